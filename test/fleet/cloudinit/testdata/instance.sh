# Runs in namespaces of its own: an instance with what its user data says, below /instance,
# and a world behind it. $1 is the program to start, $2 its user.
set -eu
instance=$1 program=$2
ip link set lo up
unshare --net sleep 600 &
world=$!
in_world() { nsenter --target "$world" --net "$@"; }
until [ "$(readlink "/proc/$world/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do :; done
ip link add eth0 type veth peer name eth0 netns "$world"
ip address add 44.55.66.2/24 dev eth0
ip link set eth0 up
ip route add default via 44.55.66.1
in_world ip link set lo up
in_world ip address add 44.55.66.1/24 dev eth0
in_world ip address add 10.0.0.1/24 dev eth0
in_world ip link set eth0 up

# What user data writes lies over the machine's own, in this mount namespace alone.
mount --make-rprivate /
mount -t tmpfs tmpfs /run
for directory in /etc/squid /etc/tinyproxy /var/log/squid /var/spool/squid /var/log/tinyproxy; do
	if [ -d "$directory" ]; then mount -t tmpfs -o mode=755 tmpfs "$directory"; fi
done
if [ -d /etc/squid ]; then
	chown proxy /var/log/squid /var/spool/squid
	if [ -f "$instance/etc/squid/squid.conf" ]; then cp -a "$instance/etc/squid/." /etc/squid/; fi
fi
nft -f "$instance/etc/nftables.conf"
cat >/run/world.py <<'P'
import http.server, sys
class Echo(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = str(self.headers).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("0.0.0.0", int(sys.argv[1])), Echo).serve_forever()
P
for port in 25 53 80 443 8080; do in_world python3 /run/world.py "$port" & done
for port in 25 53 80 443 8080; do
	until in_world sh -c "python3 -c 'import socket; socket.create_connection((\"44.55.66.1\", $port), 1)'" 2>/dev/null; do sleep 0.05; done
done
python3 /run/world.py 8081 & # on the instance itself
case $program in
squid)
	"$instance/usr/local/sbin/make-squid-users"
	[ ! -e /etc/squid/gatehouse-password ] || { echo "the password is still there" >&2; exit 1; }
	squid -N -f /etc/squid/squid.conf >/run/log 2>&1 &
	;;
tinyproxy)
	tinyproxy -d -c "$instance/etc/tinyproxy/tinyproxy.conf" >/run/log 2>&1 &
	;;
esac
proxy=$!
tries=0
until python3 -c 'import socket; socket.create_connection(("127.0.0.1", 3128), 1)' 2>/dev/null; do
	tries=$((tries + 1))
	if [ "$tries" -gt 600 ] || ! kill -0 "$proxy"; then
		cat /run/log /var/log/squid/cache.log >&2
		exit 1
	fi
	sleep 0.05
done

# ask NAME CURL-ARGUMENTS...: one line with what curl got, and the body's headers.
ask() {
	echo "== $1"
	shift
	curl --silent --show-error --max-time 20 --noproxy '' --proxy http://127.0.0.1:3128 --output /run/body \
		--write-out 'status %{http_code} connect %{http_connect}\n' "$@" 2>&1 || echo "curl: $?"
	if [ -s /run/body ] && grep -q '^Host:' /run/body; then grep -iE '^(host|via|forwarded|x-forwarded-for|proxy-authorization|proxy-connection):' /run/body; fi
	rm -f /run/body
}
ask "without credentials" http://44.55.66.1/
ask "with a wrong password" --proxy-user crawler:wrong http://44.55.66.1/
ask "with credentials" --proxy-user crawler:s3cret http://44.55.66.1/
ask "through a tunnel" --proxy-user crawler:s3cret --proxytunnel http://44.55.66.1:443/
ask "to a private address" --proxy-user crawler:s3cret http://10.0.0.1/
ask "to a private address through a tunnel" --proxy-user crawler:s3cret --proxytunnel http://10.0.0.1:443/
ask "to a port of names at a private address" --proxy-user crawler:s3cret http://10.0.0.1:53/
ask "to loopback" --proxy-user crawler:s3cret http://127.0.0.1:8081/
ask "to the instance itself" --proxy-user crawler:s3cret http://44.55.66.2:8081/
ask "to metadata" --proxy-user crawler:s3cret http://169.254.169.254/
ask "to a mail server" --proxy-user crawler:s3cret --proxytunnel http://44.55.66.1:25/
