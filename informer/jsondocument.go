package informer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// maxDepth bounds how deep objects nest. The objects that are read here nest
// less than ten deep.
const maxDepth = 100

// parseJSON reads JSON documents that follow each other. JSON is almost YAML,
// but not quite: YAML parsers stumble over tabs and over characters written as
// two escapes.
func parseJSON(data []byte) ([]document, error) {
	p := jsonParser{data: data, decoder: json.NewDecoder(bytes.NewReader(data))}
	p.decoder.UseNumber()
	var docs []document
	for {
		token, err := p.decoder.Token()
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, p.fail(err)
		}
		root, err := p.value(token, 0)
		if err != nil {
			return nil, err
		}
		docs = append(docs, document{root: root, last: p.line()})
	}
}

// jsonParser builds the tree a YAML parser would, lines included.
type jsonParser struct {
	data    []byte
	decoder *json.Decoder
	// at and lines are the place up to which lines were counted.
	at, lines int
}

// line returns the line of the token that was read last.
func (p *jsonParser) line() int {
	end := int(p.decoder.InputOffset())
	p.lines += bytes.Count(p.data[p.at:end], []byte("\n"))
	p.at = end
	return p.lines + 1
}

func (p *jsonParser) value(token json.Token, depth int) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: p.line()}
	if depth > maxDepth {
		return nil, errorAt(n.Line, "nests deeper than %d levels", maxDepth)
	}
	switch t := token.(type) {
	case json.Delim:
		return n, p.collection(n, t, depth)
	case string:
		n.Tag, n.Style, n.Value = "!!str", yaml.DoubleQuotedStyle, t
	case json.Number:
		n.Tag, n.Value = "!!float", t.String()
		if _, err := t.Int64(); err == nil {
			n.Tag = "!!int"
		}
	case bool:
		n.Tag, n.Value = "!!bool", fmt.Sprint(t)
	default:
		n.Tag, n.Value = "!!null", "null"
	}
	return n, nil
}

func (p *jsonParser) collection(n *yaml.Node, open json.Delim, depth int) error {
	n.Kind, n.Tag = yaml.MappingNode, "!!map"
	if open == '[' {
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
	}
	for {
		token, err := p.decoder.Token()
		if err != nil {
			return p.fail(err)
		}
		if end, ok := token.(json.Delim); ok && (end == ']' || end == '}') {
			return nil
		}
		child, err := p.value(token, depth+1)
		if err != nil {
			return err
		}
		n.Content = append(n.Content, child)
	}
}

func (p *jsonParser) fail(err error) error {
	at := p.decoder.InputOffset()
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = syntax.Offset
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		at, err = int64(len(bytes.TrimRight(p.data, " \t\r\n"))), errors.New("the text ends too early")
	}
	return errorAt(lineAt(p.data, int(at)), "%s", err)
}
