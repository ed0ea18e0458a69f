-- A shop for sysbench: accounts, of which a drifting few are in demand, their history, and a ledger that grows.
-- A group is the accounts of about one page; the draw is over groups, so that popularity is a property of pages.
sysbench.cmdline.options = {
  mode = { "shop, or report: the ledger from its start in steps", "shop" },
  groups = { "groups of accounts", 1 },
  group_rows = { "accounts of a group", 1 },
  theta = { "Zipf exponent over the groups, not 1", 0.9 },
  hot = { "groups by which the hot set has moved", 0 },
  layout = { "spreads the groups' ranks over the table", 1 },
  ledger = { "rows that the ledger began with", 1 },
  step = { "ledger rows of a report's step", 1 },
  lookups = { "weight", 1 },
  updates = { "weight", 1 },
  recents = { "weight", 1 },
  ranges = { "weight", 1 },
  orders = { "weight", 1 },
}
local KINDS = { "lookups", "updates", "recents", "ranges", "orders" }
local NOTE = string.rep("n", 100)
local option, connection, weights, whole, spread, at

local function common_divisor(a, b)
  while b > 0 do
    a, b = b, a % b
  end
  return a
end

function thread_init()
  option = sysbench.opt
  connection = sysbench.sql.driver():connect()
  weights, whole, at = {}, 0, 0
  for index, kind in ipairs(KINDS) do
    whole = whole + option[kind]
    weights[index] = whole
  end
  -- A factor without a common divisor makes a permutation of the groups.
  spread = math.floor(option.groups * 0.618) + option.layout % 1000
  while common_divisor(spread, option.groups) > 1 do
    spread = spread + 1
  end
end

function thread_done()
  connection:disconnect()
end

-- Rank from 0, by the continuous inverse of a Zipf distribution.
local function rank(count, theta)
  local power = 1 - theta
  local top = (count + 1) ^ power
  return math.floor((1 + (top - 1) * sysbench.rand.uniform_double()) ^ (1 / power)) - 1
end

local function account()
  local place = (rank(option.groups, option.theta) + option.groups - option.hot) % option.groups
  local group = place * spread % option.groups
  return 1 + group * option.group_rows + sysbench.rand.uniform(0, option.group_rows - 1)
end

local shop = {}

function shop.lookups()
  connection:query(("SELECT balance FROM accounts WHERE id = %d"):format(account()))
end

function shop.updates()
  local id, delta = account(), sysbench.rand.uniform(0, 10000) - 5000
  connection:query("BEGIN")
  connection:query(("UPDATE accounts SET balance = balance + %d WHERE id = %d"):format(delta, id))
  connection:query(("INSERT INTO history (account, delta) VALUES (%d, %d)"):format(id, delta))
  connection:query("COMMIT")
end

function shop.recents()
  local age = rank(option.ledger, 1.05)
  local newest = "(SELECT MAX(id) FROM ledger)"
  connection:query(
    ("SELECT SUM(amount) FROM ledger WHERE id > %s - %d AND id <= %s - %d"):format(newest, age + 40, newest, age)
  )
end

function shop.ranges()
  local id = account()
  local last = id + 6 * option.group_rows
  connection:query(("SELECT SUM(balance) FROM accounts WHERE id BETWEEN %d AND %d"):format(id, last))
end

function shop.orders()
  local rows, id = {}, account()
  for line = 1, 5 do
    rows[line] = ("(%d, %d, '%s')"):format(id, line, NOTE)
  end
  connection:query("INSERT INTO ledger (account, amount, note) VALUES " .. table.concat(rows, ", "))
end

function event()
  if option.mode == "report" then
    connection:query(
      ("SELECT SUM(amount) FROM ledger WHERE id > %d AND id <= %d"):format(at, at + option.step)
    )
    at = (at + option.step) % option.ledger
    return
  end
  local target = sysbench.rand.uniform_double() * whole
  for index, kind in ipairs(KINDS) do
    if target < weights[index] then
      return shop[kind]()
    end
  end
  return shop.lookups()
end
