-- Runs for requests whose host has no scope of its own as it was written. It looks
-- again with the name in lower case and without a trailing dot, and then leaves
-- the request to the scope of all other names.
local scope = "x-gatehouse-scope"

function envoy_on_request(handle)
  local info = handle:streamInfo()
  if info:routeName() ~= "" then
    return
  end
  local headers = handle:headers()
  local tried = string.match(headers:get(scope) or "", "^[^:]*")
  local set = string.match(tried, "^[^/]*/")
  if set == nil then
    return
  end
  local host = headers:get(":authority") or ""
  if string.sub(host, 1, 1) ~= "[" then
    local wanted = set .. string.lower(string.match(host, "^[^:]*"))
    if wanted ~= tried and wanted ~= set then
      headers:replace(scope, wanted)
      handle:clearRouteCache()
      handle:metadata()
      if info:routeName() ~= "" then
        return
      end
    end
  end
  headers:replace(scope, set)
  handle:clearRouteCache()
end
