import { Agent, get } from 'node:http'
import { eventually, type System, startSystem } from '@leadwire/test-kit'

let system: System
beforeEach(async () => {
  system = await startSystem({ env: { LOG_LEVEL: 'debug' } })
})
afterEach(() => system.stop())

/**
 * Requests the lead statuses. Resolves to the status of the response if the whole response arrived. Otherwise
 * resolves to `aborted` or the error code.
 */
const statuses = (agent: Agent) =>
  new Promise<number | string>((resolve) => {
    const headers = { authorization: `Bearer ${system.token}` }
    get(`${system.baseUrl}/leads/statuses`, { agent, headers }, (response) => {
      response.on('error', () => resolve('aborted'))
      response.on('end', () => resolve(response.complete ? response.statusCode! : 'aborted'))
      response.resume()
    }).on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  })

test('a drain completes every request and then closes the port', async () => {
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

test('the log names the setting for proxies, and has one line without the token for each request', async () => {
  await eventually(() =>
    expect(system.logs('gateway').map(({ msg }) => msg)).toContainEqual(
      expect.stringContaining('set TRUSTED_PROXIES to the addresses of the proxy'),
    ),
  )
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

test('the log line of a refused token has the address of the client, and the id of a known token', async () => {
  const requestLogLine = async (token: string, id: string) => {
    const headers = { authorization: `Bearer ${token}`, 'x-request-id': id }
    await fetch(`${system.baseUrl}/manage/users`, { headers })
    return eventually(() => {
      const line = system.logs('gateway').find((each) => each['request_id'] === id)
      expect(line).toBeDefined()
      return line
    })
  }
  const headers = { authorization: `Bearer ${system.token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'Spec', scopes: ['leads'] })
  const made = await fetch(`${system.baseUrl}/manage/tokens`, { method: 'POST', headers, body })
  const { data } = (await made.json()) as { data: { id: number; token: string } }
  expect(await requestLogLine(data.token, 'lacks-scope')).toMatchObject({
    level: 'info',
    status: 403,
    token_id: data.id,
    address: '127.0.0.1',
    account_id: system.account.id,
  })
  const unknown = await requestLogLine('lw_live_unknown', 'unknown-token')
  expect(unknown).toMatchObject({ level: 'info', status: 401, address: '127.0.0.1' })
  expect(unknown).not.toHaveProperty('token_id')
})

test('without leads-service the gateway is not ready and responds 503, and then recovers without help', async () => {
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
