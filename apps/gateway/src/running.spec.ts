import { Agent, get } from 'node:http'
import { eventually, type System, startSystem } from '@leadwire/test-kit'

let system: System
beforeEach(async () => {
  system = await startSystem({ env: { LOG_LEVEL: 'debug' } })
})
afterEach(() => system.stop())

/** 200 when the answer came whole; else the connection's error code. */
const statuses = (agent: Agent) =>
  new Promise<number | string>((resolve) => {
    const headers = { authorization: `Bearer ${system.token}` }
    get(`${system.baseUrl}/leads/statuses`, { agent, headers }, (response) => {
      response.on('error', () => resolve('aborted'))
      response.on('end', () => resolve(response.complete ? response.statusCode! : 'aborted'))
      response.resume()
    }).on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  })

test('a drain ends every request: clients move to another copy, then the port is closed', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 20 })
  const outcomes: (number | string)[] = []
  let running = true
  const client = async () => {
    while (running) {
      const outcome = await statuses(agent)
      outcomes.push(outcome)
      if (outcome !== 200) return
    }
  }
  const clients = Array.from({ length: 20 }, client)
  await eventually(() => expect(outcomes.length).toBeGreaterThan(500))
  await system.drain('gateway')
  await Promise.all(clients)
  running = false
  agent.destroy()
  expect(new Set(outcomes)).toEqual(new Set([200, 'ECONNREFUSED']))
})

test('one log line for each request, with no token in it', async () => {
  const headers = { authorization: `Bearer ${system.token}`, 'x-request-id': 'logged-once' }
  await fetch(`${system.baseUrl}/leads?page=2`, { headers })
  await eventually(() => {
    const lines = system.logs('gateway').filter((line) => line['request_id'] === 'logged-once')
    expect(lines).toMatchObject([
      { msg: 'request', method: 'GET', route: '/leads', status: 200, account_id: system.account.id },
    ])
  })
  expect(JSON.stringify(system.logs('gateway'))).not.toContain(system.token)
})

test('without what is behind: not ready, 503, and back again by itself', async () => {
  const headers = { authorization: `Bearer ${system.token}` }
  const ask = async (path: string) => {
    const response = await fetch(system.baseUrl + path, { headers })
    return { status: response.status, body: await response.json() }
  }
  await system.kill('leads-service')
  await eventually(async () =>
    expect((await ask('/readyz')).body).toMatchObject({ missing: ['leads-service'] }),
  )
  expect((await ask('/leads')).status).toBe(503)
  await system.restart('leads-service')
  await eventually(async () => expect((await ask('/leads')).status).toBe(200))
  await eventually(async () => expect((await ask('/readyz')).status).toBe(200))
})
