package informer

import (
	gojson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	sigsjson "sigs.k8s.io/json"
)

// manifest is one object of a file, with the line it begins in.
type manifest struct {
	object runtime.Object
	line   int
}

// decoder turns documents into objects.
type decoder struct {
	doc     *document
	aliases int
	found   []manifest
	// skip is told the type of each object that is not needed.
	skip func(metav1.TypeMeta)
}

// decodeManifests reads all objects of a manifest that a proxy needs. Fields
// that are not known are ignored, since newer objects have more of them; a key
// that is there twice or a value of the wrong type is an error with its line.
// Errors are of type *lineError.
func decodeManifests(data []byte, skip func(metav1.TypeMeta)) ([]manifest, error) {
	docs, err := parseDocuments(data)
	if err != nil {
		return nil, err
	}
	d := decoder{skip: skip}
	for i := range docs {
		d.doc, d.aliases = &docs[i], 0
		root := docs[i].root
		if root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
			root = root.Content[0]
		}
		if err := d.node(root, metav1.TypeMeta{}, 0); err != nil {
			return nil, err
		}
	}
	return d.found, nil
}

// node reads an object or a list of objects. Items of a typed list need not
// say their type.
func (d *decoder) node(n *yaml.Node, implied metav1.TypeMeta, depth int) error {
	if n.Kind == yaml.AliasNode {
		d.aliases++
		n = resolve(n)
	}
	line := d.doc.line(n)
	switch {
	case d.aliases > maxAliased || depth > maxDepth:
		return errorAt(line, "lists of lists, or aliases, stand for too many objects")
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return nil
	case n.Kind != yaml.MappingNode:
		return errorAt(line, "want an object with apiVersion and kind, found %s", nodeText(n))
	}
	w := jsonWriter{doc: d.doc, aliases: &d.aliases}
	fields, err := w.fields(n, 0)
	if err != nil {
		return err
	}
	meta, err := d.typeOf(n, fields, implied)
	if err != nil {
		return err
	}
	if items := value(fields, "items"); strings.HasSuffix(meta.Kind, "List") && items != nil {
		return d.items(items, meta, depth)
	}
	switch meta {
	case metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}:
		return add(d, n, &corev1.Service{})
	case metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}:
		return add(d, n, &corev1.Node{})
	case metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"}:
		return add(d, n, &discoveryv1.EndpointSlice{})
	case metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "ServiceCIDR"}:
		return add(d, n, &networkingv1.ServiceCIDR{})
	}
	d.skip(meta)
	return nil
}

func (d *decoder) items(items *yaml.Node, list metav1.TypeMeta, depth int) error {
	var implied metav1.TypeMeta
	if list.Kind != "List" {
		implied = metav1.TypeMeta{APIVersion: list.APIVersion, Kind: strings.TrimSuffix(list.Kind, "List")}
	}
	if items.Kind == yaml.ScalarNode && items.ShortTag() == "!!null" {
		return nil
	}
	if items.Kind != yaml.SequenceNode {
		return errorAt(d.doc.line(items), "items of a %s: want a list, found %s", quote(list.Kind), nodeText(items))
	}
	for _, item := range items.Content {
		if err := d.node(item, implied, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) typeOf(n *yaml.Node, fields []field, implied metav1.TypeMeta) (metav1.TypeMeta, error) {
	meta := implied
	for _, f := range []struct {
		name string
		to   *string
	}{{"apiVersion", &meta.APIVersion}, {"kind", &meta.Kind}} {
		v := value(fields, f.name)
		switch {
		case v == nil && *f.to != "":
		case v == nil:
			return meta, errorAt(d.doc.line(n), "the object has no %s", f.name)
		case v.Kind != yaml.ScalarNode || v.ShortTag() != "!!str" || v.Value == "":
			return meta, errorAt(d.doc.line(v), "%s: want text, found %s", f.name, nodeText(v))
		default:
			*f.to = v.Value
		}
	}
	return meta, nil
}

// value returns the value of a field, or nil.
func value(fields []field, name string) *yaml.Node {
	for _, f := range fields {
		if f.name == name {
			return resolve(f.value)
		}
	}
	return nil
}

// child returns a field that is written in a mapping, or nil.
func child(n *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Kind == yaml.ScalarNode && k.Value == name {
			return resolve(n.Content[i+1])
		}
	}
	return nil
}

// object is an API object that can be decoded.
type object interface {
	runtime.Object
	metav1.Object
}

func add(d *decoder, n *yaml.Node, o object) error {
	w := jsonWriter{doc: d.doc, aliases: &d.aliases}
	if err := w.write(n, 0, false); err != nil {
		return err
	}
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(w.buf, o); err != nil {
		return d.typeError(&w, n, err)
	}
	line := d.doc.line(n)
	if o.GetName() == "" {
		return errorAt(line, "the object has no metadata.name")
	}
	switch o.(type) {
	case *corev1.Node, *networkingv1.ServiceCIDR:
		o.SetNamespace("")
	default:
		if o.GetNamespace() == "" {
			o.SetNamespace(metav1.NamespaceDefault)
		}
	}
	d.found = append(d.found, manifest{o, line})
	return nil
}

// typeError says which value has the wrong type. An error of a type with a
// decoder of its own counts from the beginning of that value, or has no place
// at all; then the line is that of the field, or at worst of the object.
func (d *decoder) typeError(w *jsonWriter, root *yaml.Node, err error) error {
	wrong, ok := errors.AsType[*gojson.UnmarshalTypeError](err)
	if !ok {
		return errorAt(d.doc.line(root), "%s", shorten(err.Error(), 200))
	}
	at, found := w.node(int(wrong.Offset)), root
	for i, place := range places(root, strings.Split(wrong.Field, ".")) {
		switch {
		case within(place, at, 0):
			found = at
		case i == 0:
			found = place
		}
	}
	return errorAt(d.doc.line(found), "%s: want %s, found %s", quote(wrong.Field), typeText(wrong.Type), nodeText(found))
}

// places returns the nodes at a path of fields, looking into every item of
// lists.
func places(n *yaml.Node, path []string) []*yaml.Node {
	n = resolve(n)
	if len(path) == 0 {
		return []*yaml.Node{n}
	}
	var all []*yaml.Node
	switch n.Kind {
	case yaml.SequenceNode:
		for _, item := range n.Content {
			all = append(all, places(item, path)...)
		}
	case yaml.MappingNode:
		if next := child(n, path[0]); next != nil {
			all = places(next, path[1:])
		}
	}
	return all
}

// within reports whether a node is another or part of it.
func within(n, part *yaml.Node, depth int) bool {
	n = resolve(n)
	if n == part || depth > maxDepth {
		return n == part
	}
	return slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return within(c, part, depth+1) })
}

// typeText describes a Go type in the words of a manifest.
func typeText(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number that fits in " + t.String()
	case reflect.String:
		return "text"
	case reflect.Slice, reflect.Array:
		return "a list"
	}
	return "a mapping"
}

// nodeText describes what stands in a manifest.
func nodeText(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if b, ok := oldBool(n); ok {
		return fmt.Sprintf("%s, which means %v unless it is put in quotes", quote(n.Value), b)
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!str":
		return "the text " + quote(n.Value)
	}
	return quote(n.Value)
}
