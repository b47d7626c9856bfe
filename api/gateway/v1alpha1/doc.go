// Package v1alpha1 is the API group gatehouse.dev: settings of the data plane.
//
// +groupName=gatehouse.dev
package v1alpha1
