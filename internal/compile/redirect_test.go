package compile

import (
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// The port of a Location follows the text of HTTPRequestRedirectFilter.port.
func TestPortOfARedirect(t *testing.T) {
	for _, c := range []struct {
		name     string
		redirect model.Redirect
		protocol model.Protocol
		listener uint16
		want     uint16
	}{
		{"a scheme has its well-known port", model.Redirect{Scheme: "https"}, model.HTTP, 8080, 0},
		{"without a scheme it is the listener's", model.Redirect{}, model.HTTP, 8080, 8080},
		{"the listener's is left out when HTTP implies it", model.Redirect{}, model.HTTP, 80, 0},
		{"the listener's is left out when HTTPS implies it", model.Redirect{}, model.HTTPS, 443, 0},
		{"port 443 of a plain listener is not implied", model.Redirect{}, model.HTTP, 443, 443},
		{"a port that is given stays", model.Redirect{Port: 8443, Scheme: "https"}, model.HTTP, 80, 8443},
		{"a port that the scheme implies is left out", model.Redirect{Port: 443, Scheme: "https"}, model.HTTP, 80, 0},
		{"a port that the listener's protocol implies is left out", model.Redirect{Port: 80}, model.HTTP, 8080, 0},
		{"port 80 with https is said", model.Redirect{Port: 80, Scheme: "https"}, model.HTTP, 8080, 80},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := land(c.redirect, c.protocol, c.listener).Port; got != c.want {
				t.Errorf("port %d, want %d", got, c.want)
			}
		})
	}
}
