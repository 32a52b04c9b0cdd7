package nft

import (
	"bytes"
	"sort"
)

// records holds the elements of one set as the kernel lays them out, one after
// the other: key, then data or verdict. A hundred thousand elements are one
// allocation, and comparing two sets is a merge of two sorted lists.
type records struct {
	buf    []byte
	keyLen int
	size   int // length of one record
}

func newRecords(d *setDecl) records {
	return records{keyLen: d.recordKeyLen(), size: d.recordLen()}
}

func (r *records) count() int {
	if r.size == 0 {
		return 0
	}
	return len(r.buf) / r.size
}

func (r *records) at(i int) []byte { return r.buf[i*r.size : (i+1)*r.size] }

func (r *records) key(i int) []byte { return r.buf[i*r.size : i*r.size+r.keyLen] }

func (r *records) data(i int) []byte { return r.buf[i*r.size+r.keyLen : (i+1)*r.size] }

// grow makes room for that many records.
func (r *records) grow(n int) { r.buf = make([]byte, 0, n*r.size) }

// extend appends an empty record and returns it.
func (r *records) extend() []byte {
	n := len(r.buf)
	if cap(r.buf) < n+r.size {
		grown := make([]byte, n, 2*n+64*r.size)
		copy(grown, r.buf)
		r.buf = grown
	}
	r.buf = r.buf[:n+r.size]
	rec := r.buf[n:]
	clear(rec)
	return rec
}

func (r *records) append(rec []byte) { r.buf = append(r.buf, rec...) }

// sorted returns the records in the order of their bytes.
func (r *records) sorted() records {
	return r.sortedBy(bytes.Compare)
}

// sortedBy returns the records in the order that compare gives to their keys.
func (r *records) sortedBy(compare func(a, b []byte) int) records {
	order := make([]int32, r.count())
	for i := range order {
		order[i] = int32(i)
	}
	less := func(i, j int) bool { return compare(r.key(int(order[i])), r.key(int(order[j]))) < 0 }
	if sort.SliceIsSorted(order, less) {
		return *r
	}
	sort.Slice(order, less)
	out := records{keyLen: r.keyLen, size: r.size, buf: make([]byte, 0, len(r.buf))}
	for _, i := range order {
		out.append(r.at(int(i)))
	}
	return out
}

// unique returns sorted records with only one of each key.
func (r *records) unique() records {
	out := records{keyLen: r.keyLen, size: r.size, buf: r.buf[:0]}
	for i := range r.count() {
		if i == 0 || !bytes.Equal(r.key(i), out.key(out.count()-1)) {
			out.append(r.at(i))
		}
	}
	return out
}

// diffRecords splits two sorted lists into what has to be deleted from the
// first and added to it to give the second. A changed element is both.
func diffRecords(from, to records) (del, add records) {
	del = records{keyLen: to.keyLen, size: to.size}
	add = del
	i, j := 0, 0
	for i < from.count() || j < to.count() {
		switch c := compareAt(from, i, to, j); {
		case c < 0:
			del.append(from.at(i))
			i++
		case c > 0:
			add.append(to.at(j))
			j++
		default:
			if !bytes.Equal(from.at(i), to.at(j)) {
				del.append(from.at(i))
				add.append(to.at(j))
			}
			i, j = i+1, j+1
		}
	}
	return del, add
}

// compareAt compares keys; an exhausted list counts as later than any key.
func compareAt(a records, i int, b records, j int) int {
	switch {
	case i >= a.count():
		return 1
	case j >= b.count():
		return -1
	}
	return bytes.Compare(a.key(i), b.key(j))
}
