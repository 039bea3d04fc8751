-- What wrk asks for: of ten requests four are publishes, four lists, two acts. Keys come by the environment; so
-- does the number of users, where it is not 200, and a script whose report comes last.
local key, secret, instance = os.getenv("PEAL_KEY"), os.getenv("PEAL_SECRET"), os.getenv("PEAL_INSTANCE")
local admin = {["X-MAGICBELL-API-KEY"] = key, ["X-MAGICBELL-API-SECRET"] = secret, ["Content-Type"] = "application/json"}
local bearer = {["Authorization"] = "Bearer " .. secret, ["Content-Type"] = "application/json"}
local count, users = 0, tonumber(os.getenv("PEAL_USERS") or "200")
if os.getenv("PEAL_REPORT") then dofile(os.getenv("PEAL_REPORT")) end

local function user(number)
  local headers = {}
  for name, value in pairs(admin) do headers[name] = value end
  headers["X-MAGICBELL-USER-EXTERNAL-ID"] = "load-" .. number
  return headers
end

function request()
  count = count + 1
  local number, turn = math.floor(count / 10) % users, count % 10
  if turn < 2 then
    return wrk.format("POST", "/notifications", admin,
      '{"notification":{"title":"Order ' .. count .. '","content":"It has left","recipients":[{"external_id":"load-' .. number .. '"}]}}')
  elseif turn < 4 then
    return wrk.format("POST", "/publish_api/v1/instances/" .. instance .. "/publishes/users", bearer,
      '{"users":["load-' .. number .. '"],"apns":{"aps":{"alert":"Order ' .. count .. '"}}}')
  elseif turn < 8 then
    return wrk.format("GET", "/notifications?per_page=15", user(number))
  elseif turn == 8 then
    return wrk.format("POST", "/notifications/read", user(number))
  end
  return wrk.format("POST", "/notifications/seen", user(number))
end
