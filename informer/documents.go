package informer

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// document is one document of a manifest. Lines of nodes in root count from the
// first line of the document.
type document struct {
	root *yaml.Node
	// before is the number of lines of the file before the document, last that
	// of its last line.
	before, last int
}

// line returns the line of a node in the file. YAML knows more line breaks than
// editors do, so it may count too many.
func (d *document) line(n *yaml.Node) int { return min(d.before+max(n.Line, 1), d.last) }

var byteOrderMark = []byte("\xef\xbb\xbf")

// parseDocuments reads a stream of YAML or JSON documents, those that hold
// nothing left out. Errors are of type *lineError.
func parseDocuments(data []byte) ([]document, error) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	if at := invalidUTF8(data); at >= 0 {
		return nil, errorAt(lineAt(data, at), "the text is not UTF-8")
	}
	if first := bytes.TrimLeft(data, " \t\r\n"); len(first) > 0 && first[0] == '{' {
		docs, jsonErr := parseJSON(data)
		if jsonErr == nil {
			return docs, nil
		}
		// YAML in flow style begins with a brace, too.
		docs, err := parseYAML(data)
		if err != nil && bytes.HasPrefix(bytes.TrimLeft(first[1:], " \t\r\n"), []byte(`"`)) {
			return nil, jsonErr
		}
		return docs, err
	}
	return parseYAML(data)
}

func invalidUTF8(data []byte) int {
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

// lineAt returns the line of a byte, counted from 1.
func lineAt(data []byte, at int) int {
	return 1 + bytes.Count(data[:min(at, len(data))], []byte("\n"))
}

// part is the text of one YAML document.
type part struct {
	text   []byte
	before int
}

// last is the line of the last character of the document.
func (p part) last() int {
	return p.before + lineAt(p.text, len(bytes.TrimRight(p.text, "\r\n")))
}

func parseYAML(data []byte) ([]document, error) {
	var docs []document
	for _, p := range splitYAML(data) {
		root, err := parseOne(p.text)
		if err != nil {
			return nil, syntaxError(p, err)
		}
		if root != nil {
			docs = append(docs, document{root: root, before: p.before, last: p.last()})
		}
	}
	return docs, nil
}

// parseOne parses a text that must hold at most one document.
func parseOne(text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	root := new(yaml.Node)
	err := decoder.Decode(root)
	if errors.Is(err, io.EOF) {
		return nil, nil // nothing but comments
	}
	if err == nil {
		if err = decoder.Decode(new(yaml.Node)); errors.Is(err, io.EOF) {
			return root, nil
		}
		if err == nil {
			err = errors.New("did not find expected end of the document")
		}
	}
	return nil, err
}

// splitYAML cuts a stream at its document markers. Each document is parsed on
// its own, so that a mistake in it has a line of its own. A marker at the
// beginning of a line is one even within quotes or block text, says YAML.
func splitYAML(data []byte) []part {
	var parts []part
	start, from, line := 0, 0, 0
	content := false // the part holds more than directives and comments
	cut := func(end, next, nextLine int) {
		if content {
			parts = append(parts, part{data[start:end], from})
		}
		start, from, content = next, nextLine, false
	}
	for at := 0; at < len(data); line++ {
		end := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		text := data[at:end]
		switch {
		case marker(text, "---"):
			if content {
				cut(at, at, line)
			}
			content = true
		case marker(text, "..."):
			cut(at, end, line+1)
		case !ignorable(text):
			content = true
		}
		at = end
	}
	cut(len(data), len(data), line)
	return parts
}

// marker reports whether a line is a document marker.
func marker(line []byte, mark string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(mark))
	return ok && (len(rest) == 0 || bytes.ContainsAny(rest[:1], " \t\r\n"))
}

// ignorable reports whether a line before a document says nothing by itself.
func ignorable(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#' || line[0] == '%'
}

var (
	yamlErrorLine    = regexp.MustCompile(`(?s)line (\d+): (.*)`)
	yamlErrorAnchor  = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
	yamlParserPrefix = "did not find expected"
)

// syntaxError finds the line of a mistake. The YAML parser with line numbers
// in its tree names the line where the block around a mistake begins; its older
// brother names the line of the mistake itself, so it is asked for that. Both
// count from 0 in what they call parser errors and leave line 0 out, which the
// empty line in front makes up for.
func syntaxError(p part, err error) error {
	text := append([]byte("\n"), p.text...)
	if _, older := sigsyaml.YAMLToJSON(text); older != nil {
		err = older
	} else if _, newer := parseOne(text); newer != nil {
		err = newer
	}
	reason, line := strings.TrimPrefix(err.Error(), "yaml: "), 0
	if m := yamlErrorLine.FindStringSubmatch(reason); m != nil {
		line, _ = strconv.Atoi(m[1])
		reason = m[2]
		if !strings.HasPrefix(reason, yamlParserPrefix) {
			line--
		}
	} else {
		line = lineAt(p.text, placeOf(reason, p.text))
	}
	return errorAt(min(p.before+max(line, 1), p.last()), "%s", shorten(reason, 200))
}

// placeOf finds what an error without a line is about.
func placeOf(reason string, text []byte) int {
	if m := yamlErrorAnchor.FindStringSubmatch(reason); m != nil {
		return max(0, bytes.Index(text, []byte("*"+m[1])))
	}
	// Else it is a character that YAML does not allow.
	return max(0, bytes.IndexFunc(text, func(r rune) bool {
		return r != '\t' && r != '\n' && r != '\r' && r != 0x85 && (unicode.IsControl(r) || r == 0xFFFE || r == 0xFFFF)
	}))
}
