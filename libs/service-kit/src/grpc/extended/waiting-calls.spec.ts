import { setTimeout as pause } from 'node:timers/promises'
import { AccountsServiceDefinition, type AccountsServiceImplementation } from '@leadwire/contracts'
import { createLifecycle } from '../../process/lifecycle'
import { createLogger } from '../../process/logger'
import { connectGrpc } from '../client'
import { createGrpcServer } from '../server'

const logger = createLogger({ service: 'spec', level: 'silent' })
const lifecycle = createLifecycle(logger)
afterAll(() => lifecycle.stop())

const CALL_MS = 5000
/**
 * The number of calls, which start one second apart. The last ones start when the first connection is gone:
 * it starts to drain after at most 33 s, and its calls end within another 10 s.
 */
const CALLS = 45

test('calls that wait for seconds outlast the end of their connection', async () => {
  const server = createGrpcServer({ logger, lifecycle, tokens: [] })
  const retrieveAccount = async () => {
    await pause(CALL_MS)
    return { account: { id: 1 } }
  }
  const implementation = new Proxy({ retrieveAccount } as unknown as AccountsServiceImplementation, {
    get: (known, name) => Reflect.get(known, name) ?? (async () => ({})),
  })
  server.add(AccountsServiceDefinition, implementation)
  const port = await server.listen({ host: '127.0.0.1', port: 0 })
  const connection = connectGrpc(`127.0.0.1:${port}`, { lifecycle, tokens: [] }, { waits: true })
  const accounts = connection.client(AccountsServiceDefinition, { deadlineMs: 10_000 })
  const calls: Promise<unknown>[] = []
  for (let call = 1; call <= CALLS; call += 1) {
    // Each call names another account, because a service runs only a few calls of one account at once.
    calls.push(accounts.retrieveAccount({ accountId: call }))
    await pause(1000)
  }
  const results = await Promise.allSettled(calls)
  expect(results.filter(({ status }) => status === 'rejected')).toEqual([])
}, 120_000)
