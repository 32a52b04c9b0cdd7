package informer

import (
	"encoding/json"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

const (
	// maxAliased bounds how many nodes of a document may come out of aliases; a
	// few lines of them can stand for more than any memory holds.
	maxAliased = 10_000
	// maxJSON bounds the size of one object, in bytes. The API server takes
	// objects of a few megabytes.
	maxJSON = 64 << 20
)

// jsonWriter turns a tree into JSON, the way kubectl does, and remembers which
// node each part of the JSON came from.
type jsonWriter struct {
	doc     *document
	buf     []byte
	marks   []mark
	aliases *int // nodes that came out of aliases so far
}

type mark struct {
	offset int
	node   *yaml.Node
}

// write appends the JSON of a node.
func (w *jsonWriter) write(n *yaml.Node, depth int, aliased bool) error {
	if depth > maxDepth {
		return errorAt(w.doc.line(n), "nests deeper than %d levels", maxDepth)
	}
	if len(w.buf) > maxJSON {
		return errorAt(w.doc.line(n), "the object is larger than %d bytes", maxJSON)
	}
	if n.Kind == yaml.AliasNode {
		return w.write(n.Alias, depth+1, true)
	}
	if aliased {
		if *w.aliases++; *w.aliases > maxAliased {
			return errorAt(w.doc.line(n), "aliases stand for more than %d values", maxAliased)
		}
	}
	w.marks = append(w.marks, mark{len(w.buf), n})
	switch n.Kind {
	case yaml.MappingNode:
		return w.mapping(n, depth, aliased)
	case yaml.SequenceNode:
		w.buf = append(w.buf, '[')
		for i, child := range n.Content {
			if i > 0 {
				w.buf = append(w.buf, ',')
			}
			if err := w.write(child, depth+1, aliased); err != nil {
				return err
			}
		}
		w.buf = append(w.buf, ']')
		return nil
	}
	value, err := w.scalar(n)
	if err != nil {
		return err
	}
	w.buf = appendJSON(w.buf, value)
	return nil
}

func (w *jsonWriter) mapping(n *yaml.Node, depth int, aliased bool) error {
	fields, err := w.fields(n, depth)
	if err != nil {
		return err
	}
	w.buf = append(w.buf, '{')
	for i, field := range fields {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.buf = append(appendJSON(w.buf, field.name), ':')
		if err := w.write(field.value, depth+1, aliased || field.aliased); err != nil {
			return err
		}
	}
	w.buf = append(w.buf, '}')
	return nil
}

// field is one entry of a mapping.
type field struct {
	name    string
	value   *yaml.Node
	aliased bool // it comes from a merged mapping
}

// fields returns the entries of a mapping, with those of merged mappings after
// them. A key that is there twice is refused: which of the two would count is
// a guess.
func (w *jsonWriter) fields(n *yaml.Node, depth int) ([]field, error) {
	if depth > maxDepth {
		return nil, errorAt(w.doc.line(n), "nests deeper than %d levels", maxDepth)
	}
	out := make([]field, 0, len(n.Content)/2)
	seen := make(map[string]int, len(n.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, value := n.Content[i], n.Content[i+1]
		if k.Kind == yaml.ScalarNode && k.ShortTag() == "!!merge" {
			merges = append(merges, value)
			continue
		}
		name, err := w.fieldName(k)
		if err != nil {
			return nil, err
		}
		if first, ok := seen[name]; ok {
			return nil, errorAt(w.doc.line(k), "key %s is already in this mapping, in line %d", quote(name), first)
		}
		seen[name] = w.doc.line(k)
		out = append(out, field{name: name, value: value})
	}
	for _, merge := range merges {
		merged, err := w.merged(merge, depth)
		if err != nil {
			return nil, err
		}
		for _, f := range merged {
			if _, ok := seen[f.name]; !ok {
				seen[f.name] = 0
				out = append(out, field{f.name, f.value, true})
			}
		}
	}
	return out, nil
}

// merged returns what "<<" brings in: a mapping, or several of which the
// earlier ones win.
func (w *jsonWriter) merged(n *yaml.Node, depth int) ([]field, error) {
	if *w.aliases++; *w.aliases > maxAliased {
		return nil, errorAt(w.doc.line(n), "aliases stand for more than %d values", maxAliased)
	}
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch n.Kind {
	case yaml.MappingNode:
		return w.fields(n, depth+1)
	case yaml.SequenceNode:
		var all []field
		for _, child := range n.Content {
			if resolve(child).Kind != yaml.MappingNode {
				break
			}
			more, err := w.merged(child, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
		return all, nil
	}
	return nil, errorAt(w.doc.line(n), "only mappings can be merged with <<")
}

func (w *jsonWriter) fieldName(k *yaml.Node) (string, error) {
	k = resolve(k)
	if k.Kind != yaml.ScalarNode {
		return "", errorAt(w.doc.line(k), "a key must be text, not a collection")
	}
	value, err := w.scalar(k)
	if err != nil {
		return "", err
	}
	switch v := value.(type) {
	case string:
		return v, nil
	case nil:
		return "", errorAt(w.doc.line(k), "a key must be text, not null")
	}
	return string(appendJSON(nil, value)), nil
}

// oldBools are words that are true or false in YAML 1.1, which Kubernetes
// manifests are written in, and text in YAML 1.2.
var oldBools = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}

func oldBool(n *yaml.Node) (value, ok bool) {
	if n.Kind != yaml.ScalarNode || n.Style != 0 || n.Tag != "!!str" {
		return false, false
	}
	value, ok = oldBools[n.Value]
	return value, ok
}

// scalar returns the JSON value of a scalar: string, bool, nil or a number.
func (w *jsonWriter) scalar(n *yaml.Node) (any, error) {
	if n.Tag == "!" {
		return n.Value, nil // "not what it looks like, but text"
	}
	switch tag := n.ShortTag(); tag {
	case "!!str":
		if b, ok := oldBool(n); ok {
			return b, nil
		}
		return n.Value, nil
	case "!!timestamp", "!!merge":
		return n.Value, nil // text, as JSON has neither
	case "!!null":
		return nil, nil
	case "!!bool", "!!int", "!!float", "!!binary":
		var value any
		if err := n.Decode(&value); err != nil {
			return nil, errorAt(w.doc.line(n), "cannot read %s as %s", quote(n.Value), tag[2:])
		}
		if _, err := json.Marshal(value); err != nil {
			return nil, errorAt(w.doc.line(n), "%s has no meaning here", quote(n.Value))
		}
		return value, nil
	default:
		return nil, errorAt(w.doc.line(n), "tag %s has no meaning here", quote(tag))
	}
}

// appendJSON appends a scalar that json.Marshal is known to take.
func appendJSON(buf []byte, value any) []byte {
	switch v := value.(type) {
	case int:
		return strconv.AppendInt(buf, int64(v), 10)
	case bool:
		return strconv.AppendBool(buf, v)
	}
	text, _ := json.Marshal(value)
	return append(buf, text...)
}

// node returns the innermost node whose JSON begins before an offset.
func (w *jsonWriter) node(offset int) *yaml.Node {
	i, _ := slices.BinarySearchFunc(w.marks, offset, func(m mark, offset int) int { return m.offset - offset })
	if i == 0 {
		return w.marks[0].node
	}
	return w.marks[i-1].node
}

// resolve follows aliases.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}
