// Package objects makes Kubernetes objects for tests: Services and
// EndpointSlices as a user and the EndpointSlice controller would write them,
// many at a time, each a function of its number so that every run meets the
// same ones.
package objects
