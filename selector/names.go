package selector

// Builtin returns the policy with the given name, with its defaults: "Cluster",
// "PreferLocal" or "LocalIfPlenty", in exactly this spelling. It reports false
// for any other name.
//
// "Local" is none of them. It belongs to the traffic policies of the Service
// API, where it also decides health checks and source addresses, so nothing
// else may choose it.
func Builtin(name string) (Selector, bool) {
	switch name {
	case "Cluster":
		return Cluster{}, true
	case "PreferLocal":
		return PreferLocal{}, true
	case "LocalIfPlenty":
		return LocalIfPlenty{}, true
	}
	return nil, false
}

// Names returns the names that Builtin knows, the default first. The caller may
// keep and change the slice.
func Names() []string { return []string{"Cluster", "PreferLocal", "LocalIfPlenty"} }
