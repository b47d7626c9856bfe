package session

// ByHost returns the deployment that a host name names as "deployment[.pool].suffix",
// without case; ok is false if it names none. One that is not known keeps the spelling
// of the name.
func ByHost(host, suffix string, known Deployments) (deployment string, pooled, ok bool) {
	name := fromSNI(host, suffix, known)
	if name == nil {
		return "", false, false
	}
	return name.deployment, *name.pooled, true
}

// ByHostOnly is for a deployment whose TLS passes through, and a client that names it in
// another way: its TLS has ended at the router, or there is none.
func ByHostOnly(deployment string, pooled bool, suffix string) *RefusalError {
	hint := "its operator has to set SNI_SUFFIX first"
	if suffix != "" {
		host := deployment
		if pooled {
			host += "." + pooledSegment
		}
		hint = "connect to the host " + quote(host+"."+suffix) + " with sslmode=require or better, and the plain user name"
	}
	return refuse(InvalidAuthorization, hint, "deployment %s is reached by its host name only", quote(deployment))
}
