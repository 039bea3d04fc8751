-- Asks for the path that wrk was given. With PEAL_USERS each request is for another of the users u0 to u(PEAL_USERS - 1).
dofile(os.getenv("PEAL_REPORT"))
local users, count = tonumber(os.getenv("PEAL_USERS") or ""), 0

if users then
  function request()
    count = count + 7
    wrk.headers["X-MAGICBELL-USER-EXTERNAL-ID"] = "u" .. count % users
    return wrk.format()
  end
end
