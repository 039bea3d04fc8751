# Starts a hub of its own on loopback and tells where it is; to be sourced: start_hub PEAL. It goes with the shell.
start_hub() {
  directory=$(mktemp -d)
  cat >"$directory/catalogue.json" <<'JSON'
{"categories": [{"slug": "billing", "label": "Billing", "channels": [
  {"slug": "email", "label": "E-mail"}, {"slug": "in_app", "label": "In the app"}]}]}
JSON
  "$1" hub --directory "$directory/hub" --http-port 0 --websocket-port 0 --require-hmac --json \
    --catalogue "$directory/catalogue.json" >"$directory/hub.json" 2>"$directory/hub.err" &
  hub=$!
  trap 'kill "$hub" 2>/dev/null; wait "$hub" 2>/dev/null; rm -rf "$directory"' EXIT
  for _ in $(seq 100); do
    [ -s "$directory/hub.json" ] && break
    sleep 0.1
  done
  python=${PEAL_PYTHON:-$(tools/python-env)}
  url=$(value http) key=$(value key) secret=$(value secret) instance=$(value instance) operator=$(value operator)
}
value() { "$python" -c "import json, sys; print(json.load(open('$directory/hub.json'))[sys.argv[1]])" "$1"; }
