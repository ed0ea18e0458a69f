-- wrk is closed-loop; this script makes its arrivals follow a rate, by a clock of its own (exponential gaps).
-- Arguments: site file, mode (visit, crawl, replay or loop), rate, seed, theta, shift, first, last.
-- A line of the site file is an article: its page, then its assets. A visit fetches the page, then the assets.
-- In a loop nothing waits, and visits and pages of a crawl have weights: the rate, and a ninth argument.
-- To replay, a line is a request: when (milliseconds from the start), path, range; nothing is drawn.
local ffi = require("ffi")
ffi.cdef [[
typedef struct { long s; long ns; } cz_time;
int clock_gettime(int clock, cz_time *time);
]]
local clock = ffi.new("cz_time")

local function now_ms()
  ffi.C.clock_gettime(1, clock)
  return tonumber(clock.s) * 1000 + tonumber(clock.ns) / 1e6
end

local articles, cumulative, queue = {}, {}, {}
local mode, rate, shift, at, last, crawls, due, head, start

local function words(line)
  local list = {}
  for word in line:gmatch("%S+") do
    list[#list + 1] = word
  end
  return list
end

function init(args)
  mode, rate, shift = args[2], tonumber(args[3]), tonumber(args[6])
  math.randomseed(tonumber(args[4]))
  for line in io.lines(args[1]) do
    articles[#articles + 1] = words(line)
  end
  local theta, sum = tonumber(args[5]), 0
  for rank = 1, #articles do
    sum = sum + rank ^ -theta
    cumulative[rank] = sum
  end
  at, last, crawls = tonumber(args[7]), tonumber(args[8]), tonumber(args[9])
  head, due = 1, now_ms()
  start = due
  if mode == "loop" then
    delay = nil
  end
end

local function draw()
  local target, low, high = math.random() * cumulative[#cumulative], 1, #cumulative
  while low < high do
    local middle = math.floor((low + high) / 2)
    if cumulative[middle] < target then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

-- Article of a rank: the newest is the most popular, and `shift` new ones have come since the start.
local function visit()
  return articles[(draw() - 1 - shift) % #articles + 1]
end

local function crawl()
  local article = articles[at]
  at = at < last and at + 1 or 1
  return { article[1] }
end

-- Waits for the requests are handed out in order; after the last one a connection waits for the end.
local function replay_delay()
  local line = articles[head]
  head = head + 1
  return line and start + tonumber(line[1]) - now_ms() or 1e7
end

-- wrk asks for one request before the load and drops it, so the first is given twice.
local function replay()
  local line = articles[math.max(at, 1)] or articles[1]
  at = at + 1
  return wrk.format("GET", line[2], { Range = line[3] })
end

function delay()
  if mode == "replay" then
    return math.max(0, math.floor(replay_delay()))
  end
  due = due - math.log(1 - math.random()) / rate * 1000
  return math.max(0, math.floor(due - now_ms()))
end

function request()
  if mode == "replay" then
    return replay()
  end
  if head > #queue then
    local crawler = mode == "crawl" or mode == "loop" and math.random() * (rate + crawls) < crawls
    queue = crawler and crawl() or visit()
    head = 1
  end
  head = head + 1
  return wrk.format("GET", queue[head - 1])
end
