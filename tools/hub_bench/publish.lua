-- What wrk sends for the measures of publishing: POST /notifications to PEAL_RECIPIENTS of the users u0 to u(PEAL_USERS - 1).
-- PEAL_CONTENT is the length of the content; with PEAL_ONE everything goes to that user, with categories and topics.
dofile(os.getenv("PEAL_REPORT"))
local users, recipients = tonumber(os.getenv("PEAL_USERS")), tonumber(os.getenv("PEAL_RECIPIENTS"))
local content, one = string.rep("x", tonumber(os.getenv("PEAL_CONTENT"))), os.getenv("PEAL_ONE")
local headers = {
  ["X-MAGICBELL-API-KEY"] = os.getenv("PEAL_KEY"), ["X-MAGICBELL-API-SECRET"] = os.getenv("PEAL_SECRET"),
  ["Content-Type"] = "application/json"}
local count, place = 0, 0

function request()
  count = count + 1
  local list, more = {}, ""
  if one then
    list[1] = '{"external_id":"' .. one .. '"}'
    more = ',"category":"c' .. count % 10 .. '","topic":"t' .. count % 1000 .. '"'
  else
    for index = 1, recipients do
      place = (place + 1) % users
      list[index] = '{"external_id":"u' .. place .. '"}'
    end
  end
  return wrk.format("POST", "/notifications", headers,
    '{"notification":{"title":"Order ' .. count .. '","content":"' .. content .. '"' .. more .. ',"recipients":[' .. table.concat(list, ",") .. ']}}')
end
