-- wrk's closed loop over a site: visits of articles by their popularity, and a crawler that fetches pages in order.
-- Arguments: site file, seed, theta, move, weight of visits, weight of crawls.
-- A line of the site file is an article: its page, then its assets. A visit fetches the page, then the assets.
local articles, cumulative, queue = {}, {}, {}
local visits, crawls, shift
local head, at = 1, 1

function init(args)
  math.randomseed(tonumber(args[2]))
  for line in io.lines(args[1]) do
    local words = {}
    for word in line:gmatch("%S+") do
      words[#words + 1] = word
    end
    articles[#articles + 1] = words
  end
  local theta, sum = tonumber(args[3]), 0
  for rank = 1, #articles do
    sum = sum + rank ^ -theta
    cumulative[rank] = sum
  end
  shift = math.floor(tonumber(args[4]) * #articles)
  visits, crawls = tonumber(args[5]), tonumber(args[6])
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

local function crawl()
  at = at % #articles + 1
  return { articles[at][1] }
end

function request()
  if head > #queue then
    local crawler = math.random() * (visits + crawls) < crawls
    queue = crawler and crawl() or articles[(draw() - 1 + shift) % #articles + 1]
    head = 1
  end
  head = head + 1
  return wrk.format("GET", queue[head - 1])
end
