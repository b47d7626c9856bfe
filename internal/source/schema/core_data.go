package schema

import (
	"encoding/base64"
	"fmt"
	"maps"
	"reflect"
	"slices"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxData is the largest total of a Secret's or ConfigMap's values: 1 MiB.
const maxData = core_v1.MaxSecretSize

// fillSecret defaults the type and moves stringData into data, where it wins.
func fillSecret(object map[string]any) {
	if t, _ := object["type"].(string); t == "" {
		object["type"] = string(core_v1.SecretTypeOpaque)
	}
	plain, _ := object["stringData"].(map[string]any)
	for key, value := range plain {
		text, _ := value.(string)
		mapAt(object, "data")[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	delete(object, "stringData")
}

func checkSecret(s *core_v1.Secret) field.ErrorList {
	at := field.NewPath("data")
	errs := checkKeys(at, slices.Sorted(maps.Keys(s.Data)))
	if s.Type == core_v1.SecretTypeTLS {
		for _, key := range []string{core_v1.TLSCertKey, core_v1.TLSPrivateKeyKey} {
			if _, ok := s.Data[key]; !ok {
				errs = append(errs, field.Required(at.Key(key), "a Secret of type kubernetes.io/tls needs this key"))
			}
		}
	}
	return append(errs, checkSize(at, sizeOf(s.Data))...)
}

func checkConfigMap(m *core_v1.ConfigMap) field.ErrorList {
	data, binary := field.NewPath("data"), field.NewPath("binaryData")
	errs := checkKeys(data, slices.Sorted(maps.Keys(m.Data)))
	errs = append(errs, checkKeys(binary, slices.Sorted(maps.Keys(m.BinaryData)))...)
	for _, key := range slices.Sorted(maps.Keys(m.BinaryData)) {
		if _, twice := m.Data[key]; twice {
			errs = append(errs, field.Invalid(binary.Key(key), field.OmitValueType{}, "the key is also in data"))
		}
	}
	return append(errs, checkSize(data, sizeOf(m.Data)+sizeOf(m.BinaryData))...)
}

func checkKeys(at *field.Path, keys []string) (errs field.ErrorList) {
	for _, key := range keys {
		for _, why := range validation.IsConfigMapKey(key) {
			errs = append(errs, field.Invalid(at.Key(key), field.OmitValueType{}, "key: "+why))
		}
	}
	return errs
}

func sizeOf[V ~string | ~[]byte](m map[string]V) (total int) {
	for _, v := range m {
		total += len(v)
	}
	return total
}

func checkSize(at *field.Path, size int) (errs field.ErrorList) {
	if size > maxData {
		errs = append(errs, field.Invalid(at, field.OmitValueType{}, fmt.Sprintf("%d bytes in all: at most %d are allowed", size, maxData)))
	}
	return errs
}

func changeSecret(before, after *core_v1.Secret) (errs field.ErrorList) {
	if before.Type != after.Type {
		errs = append(errs, field.Invalid(field.NewPath("type"), field.OmitValueType{}, "cannot change, it was "+string(before.Type)))
	}
	return append(errs, changeData(before.Immutable, after.Immutable, reflect.DeepEqual(before.Data, after.Data))...)
}

func changeConfigMap(before, after *core_v1.ConfigMap) field.ErrorList {
	same := reflect.DeepEqual(before.Data, after.Data) && reflect.DeepEqual(before.BinaryData, after.BinaryData)
	return changeData(before.Immutable, after.Immutable, same)
}

// changeData enforces "immutable: true".
func changeData(before, after *bool, same bool) (errs field.ErrorList) {
	if before == nil || !*before {
		return nil
	}
	if after == nil || !*after {
		errs = append(errs, field.Invalid(field.NewPath("immutable"), field.OmitValueType{}, "cannot change once it is true"))
	}
	if !same {
		errs = append(errs, field.Invalid(field.NewPath("data"), field.OmitValueType{}, "cannot change while immutable is true"))
	}
	return errs
}
