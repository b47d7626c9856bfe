package redis

import (
	"crypto/sha1" //nolint:gosec // names scripts to the server, which hashes them like this
	"embed"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

//go:embed lua/*.lua
var sources embed.FS

// script is one operation, as the server runs it: as a whole or not at all.
type script struct {
	text, hash string
}

// scripts are the operations of a store.
type scripts struct {
	acquire, kept, renew, release, report, set, remove, uses, told, list script
}

// compile puts the scripts together. Without "flags" the server refuses a script before it
// does anything, where it could not finish: read-only, out of memory, too few replicas.
func compile(w lease.Windows) scripts {
	constants := strings.NewReplacer(
		"@WINDOW@", micros(w.Cooldown), "@MAX@", micros(w.Max), "@BURST@", micros(w.Burst), "@POOLS@", strconv.Itoa(maxPools),
		"@TARGETS@", strconv.Itoa(lease.MaxTargets), "@ENDED@", strconv.Itoa(maxEnded),
	)
	of := func(flags string, names ...string) script {
		text := "#!lua" + flags + "\n"
		for _, name := range names {
			part, err := sources.ReadFile("lua/" + name + ".lua")
			if err != nil {
				panic(err) // it is embedded
			}
			text += string(part)
		}
		text = constants.Replace(text)
		sum := sha1.Sum([]byte(text)) //nolint:gosec // see above
		return script{text, hex.EncodeToString(sum[:])}
	}
	return scripts{
		acquire: of("", "prelude", "pool", "acquire"),
		kept:    of(" flags=allow-oom", "prelude", "kept"),
		renew:   of("", "prelude", "renew"),
		release: of(" flags=allow-oom", "prelude", "release"),
		report:  of("", "prelude", "pool", "report"),
		set:     of("", "prelude", "pool", "change", "set"),
		remove:  of(" flags=allow-oom", "prelude", "pool", "change", "remove"),
		uses:    of(" flags=allow-oom", "prelude", "uses"),
		told:    of(" flags=no-writes", "prelude", "told"),
		list:    of(" flags=no-writes", "prelude", "list"),
	}
}
