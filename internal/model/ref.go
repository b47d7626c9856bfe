package model

import "github.com/gatehouse-proxy/gatehouse/pkg/store"

// Ref names the object that a value comes from: its kind and "namespace/name".
type Ref = store.Key
