// Package failmode says what may serve of an object while its observed revision is
// withheld: the functions that acceptance, which knows no kinds, is given.
//
// Inputs that a previous revision of is a risk have a class: certificates,
// authorities, access policy, and deletions of anything. Each class retains, which
// is the rule for all other inputs, or closes. Whatever the setting, what an
// operator took away does not come back through a retained revision: deletions of
// Secrets, authorities and ReferenceGrants, labels of Namespaces, and what a
// ReferenceGrant, a bundle of authorities or allowedRoutes permits no more. Such a
// revision is retained as far as the observed one permits, and no further.
//
// All functions are pure and total; values are never changed, and what need not
// differ from an accepted value is that very value.
package failmode
