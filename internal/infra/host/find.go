package host

// FindEnvoy returns the Envoy binary and where it was found: the flag's value,
// $GATEHOUSE_ENVOY, PATH, then Gatehouse's cache directory. The error says where
// it looked and how to get one.
func FindEnvoy(flag string) (path, how string, err error) { panic("todo") }
