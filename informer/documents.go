package informer

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// document is one document of a manifest. Lines of nodes in root count from the
// first line of the document.
type document struct {
	root *yaml.Node
	// before is the number of lines of the file before the document.
	before int
}

// line returns the line of a node in the file.
func (d *document) line(n *yaml.Node) int { return d.before + max(n.Line, 1) }

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

func parseYAML(data []byte) ([]document, error) {
	var docs []document
	for _, p := range splitYAML(data) {
		decoder := yaml.NewDecoder(bytes.NewReader(p.text))
		var root yaml.Node
		err := decoder.Decode(&root)
		if errors.Is(err, io.EOF) {
			continue // nothing but comments
		}
		if err == nil {
			// One document was cut out, so there must not be more.
			if err = decoder.Decode(new(yaml.Node)); errors.Is(err, io.EOF) {
				err = nil
			}
		}
		if err != nil {
			return nil, syntaxError(p, err)
		}
		docs = append(docs, document{root: &root, before: p.before})
	}
	return docs, nil
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
// count from 0 in what they call parser errors and do not say line 0 at all,
// which the empty line in front makes up for.
func syntaxError(p part, err error) error {
	text := append([]byte("\n"), p.text...)
	if _, older := sigsyaml.YAMLToJSON(text); older != nil {
		err = older
	} else if newer := yaml.Unmarshal(text, new(yaml.Node)); newer != nil {
		err = newer
	}
	reason, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if m := yamlErrorLine.FindStringSubmatch(reason); m != nil {
		line, _ = strconv.Atoi(m[1])
		reason = m[2]
		if !strings.HasPrefix(reason, yamlParserPrefix) {
			line--
		}
	} else if m := yamlErrorAnchor.FindStringSubmatch(reason); m != nil {
		if at := bytes.Index(p.text, []byte("*"+m[1])); at >= 0 {
			line = lineAt(p.text, at)
		}
	}
	last := max(1, lineAt(p.text, len(bytes.TrimRight(p.text, "\r\n"))))
	return errorAt(p.before+min(max(line, 1), last), "%s", shorten(reason, 200))
}
