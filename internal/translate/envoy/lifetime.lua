-- Takes Max-Age out of the cookie that its route names, so that clients drop it when
-- they end. Other cookies stay as they are.
function envoy_on_response(handle)
  local begin = handle:filterContext():get("cookie") .. "="
  local headers = handle:headers()
  local cookies = {}
  for i = 0, headers:getNumValues("set-cookie") - 1 do
    local cookie = headers:getAtIndex("set-cookie", i)
    if string.sub(cookie, 1, #begin) == begin then
      cookie = string.gsub(cookie, "; Max%-Age=%d+", "", 1)
    end
    table.insert(cookies, cookie)
  end
  headers:remove("set-cookie")
  for _, cookie in ipairs(cookies) do
    headers:add("set-cookie", cookie)
  end
end
