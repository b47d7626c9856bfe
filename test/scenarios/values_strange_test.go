package scenarios

import "strings"

// strange are texts that are good in some field and bad in others.
var strange = []string{
	"", " ", "a", "A", "é", "日本", "a b", "a\tb", "a\nb", "a\r\nx-b: c", "a\x00b", "\u007f", "\u2028", "\u00a0", "'", `"`, "\\", "%", "%%", "%41", "%zz", "%00",
	"%REQ(host)%", "%s%n%d", "${a}", "{{a}}",
	"/", "//", "/a", "/a/", "/a//b", "/a/../b", "/a/./b", "/a%2Fb", "/a%2fb", "/a%00", "/a%", "/%zz", "/a?b=c", "/a#b", "/a b", "/é", "/%C3%A9", "/a;b", "/a{b}",
	"/a|b", "/a\\b", "/*", "a/b", "?", "#", "../..", "/..", "/.", "/a:b", "/%2e%2e/a", "/" + strings.Repeat("a", 1023), "/" + strings.Repeat("a", 1024),
	"(", ")", "[", "a**", "a{1001}", "a{1000}", "(a{100}){100}", "(?=a)", "(?<!a)", "(?>a)", `\1`, `(a)\1`, `\8`, `\pX`, `\p{Greek}`, `\C`, `\z`, `\Z`, `^/a$`,
	"a|", "|", ".*", "(?i)a", "(?P<n>a)", "(?<n>a)", "(?s:.)", `\Qa`, "[[:alpha:]]", "[[:foo:]]", `\x{110000}`, `\x{10FFFF}`, "a{,5}", "a{2,1}", "a++",
	"(((((((((((((((((((((((((((((((a)))))))))))))))))))))))))))))))", `(\pL{30}){30}(\pN{30}){30}`, `(?:(?:\pL\pL\pL\pL\pL){100}){10}`, `\d+(`, `[a-\d]`,
	`\bfoo\b`, "x*?", "(?U)a+", "(?#c)a",
	"a.example", "A.Example", "a.example.", ".a.example", "*.example", "*", "*.", "**.example", "a.*.example", "a*.example", "*a.example", "xn--bcher-kva.example",
	"bücher.example", "a_b.example", "-a.example", "a-.example", "a..b", "1.2.3.4", "1.2.3", "::1", "[::1]", "fe80::1%eth0", "0.0.0.0", "256.1.1.1", "01.02.03.04",
	"::ffff:1.2.3.4", "127.0.0.1", "169.254.169.254", "224.0.0.1", "255.255.255.255", "a.example:80", "http://a.example", "localhost",
	strings.Repeat("a", 63) + ".example", strings.Repeat("a", 64) + ".example", strings.Repeat("abcdefghi.", 25) + "abc",
	strings.Repeat("abcdefghi.", 25) + "abcd", "com", "*.com", "a.example/b", "user@a.example", "0x7f.1", "*.1.2.3.4",
	"host", "Host", ":authority", ":path", ":method", ":status", ":scheme", "::", "content-length", "Content-Length", "transfer-encoding", "connection",
	"keep-alive", "upgrade", "te", "trailer", "proxy-connection", "x-envoy-original-path", "x-envoy-retry-on", "x-forwarded-for", "x-forwarded-proto", "cookie",
	"set-cookie", "date", "server", "grpc-status", "content-type", "x_a", "x.a", "x a", "x:a", "x-\u00e9", strings.Repeat("x", 256), strings.Repeat("x", 257),
	strings.Repeat("v", 4096), "x,y", "GET", "get", "PATCH", "CONNECT", "TRACE", "PRI", "FOO", "*/*",
	"http", "https", "HTTP", "HTTPS", "TCP", "UDP", "TLS", "ftp", "javascript", "ws", "example.com/foo", "kubernetes.io/h2c", "kubernetes.io/ws",
	"kubernetes.io/wss", "kubernetes.io/foo", "h2c", "grpc",
	"https://a.example", "https://*.a.example", "https://*", "http://a.example:80", "http://a.example:0", "http://a.example:99999", "https://a.example/",
	"https://a.example/b", "https://u:p@a.example", "null", "file://", "file:///a", "https://[::1]", "https://[::1]:8080", "https://1.2.3.4:5",
	"HTTPS://A.Example", "https://a b", "https://*.*.example", "https://a.*.example", "https://a.example.", "https://a.example:*", "chrome-extension://abc",
	"spiffe://a/b", "spiffe://A/b", "urn:a:b", "mailto:a@b", "https://bücher.example", "ftp://a",
	"0s", "0", "1s", "1", "-1s", "1.5s", "1ms", "0.5ms", "1us", "1ns", "1h", "24h", "99999h", "99999h59m59s999ms", "1d", "1s1s", "1h1m1s1ms", "1m1h", "00000s",
	"s", "1 s", "+1s", "1S", "1e3s", "8760h", "8761h", "infinity",
	"app", "App", "app ", "app/b", "shop/app", "default", "kube-system", "Service", "service", "Pod", "Gateway", "HTTPRoute", "Secret", "core", "v1",
	"gateway.networking.k8s.io", "edge", "tls", "tcp",
	"debug", "info", "Debug", "off", "-", "/dev/null", "/dev/stdout", "relative", "/tmp/\x01", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
	"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
	"true", "yes", "no", "~", "0x10", "1e3", "2026-01-01", "!!binary", "&a", "*a", "- a", "a: b", "# a", "<script>", "' OR 1=1", "\x1b[31m", "\u202eabc", "\ufeff",
	"😀", "ﬁ", "İ", "K",
}

// numbers likewise.
var numbers = []string{"0", "1", "2", "-1", "50", "80", "99", "100", "101", "200", "301", "302", "303", "304", "307", "308", "399", "400", "404", "418", "499", "500", "503", "599", "600", "999", "1000", "65535", "65536", "99999", "999999", "1000000", "1000001", "2147483647", "2147483648", "4294967295", "4294967296", "9223372036854775807", "9223372036854775808", "1.5", "1e2", "0x10", `"1"`, "null", "true", "[]", "{}", ".inf", ".nan", "-0", "007"}
