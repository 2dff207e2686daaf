import { createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { AccountsServiceDefinition, type AccountsServiceImplementation } from '@leadwire/contracts'
import { eventually, freePort } from '@leadwire/test-kit'
import { ServiceError } from '../errors/service-error'
import { createLifecycle, type Lifecycle } from '../process/lifecycle'
import { createLogger } from '../process/logger'
import { connectGrpc } from './client'
import { createGrpcServer } from './server'

const logger = createLogger({ service: 'spec', level: 'silent' })
const TOKEN = 'a-token-of-the-spec'

let lifecycle: Lifecycle
beforeEach(() => {
  lifecycle = createLifecycle(logger)
})
afterEach(() => lifecycle.stop())

const serve = async (implementation: Partial<AccountsServiceImplementation>, port = 0) => {
  const server = createGrpcServer({ logger, lifecycle, tokens: [TOKEN, 'the-token-before-it'] })
  const names = Object.keys(AccountsServiceDefinition.methods)
  const others = Object.fromEntries(names.map((name) => [name, async () => undefined]))
  server.add(AccountsServiceDefinition, {
    ...others,
    ...implementation,
  } as unknown as AccountsServiceImplementation)
  return server.listen({ host: '127.0.0.1', port })
}

const accountsAt = (port: number, tokens = [TOKEN]) =>
  connectGrpc(`127.0.0.1:${port}`, { lifecycle, tokens }).client(AccountsServiceDefinition, {
    deadlineMs: 10_000,
  })

const account = {
  id: 3,
  name: 'Clear Windows',
  apiKey: 'key',
  createdAt: '2026-01-01T00:00:00.000000Z',
  appointmentDueMinutes: 60,
  callbackDueMinutes: 0,
}
const retrieveAccount = async () => ({ account })

test('a call waits for a server that comes a moment later', async () => {
  // On a busy machine, the call may give up before the server starts. `eventually` then repeats the attempt
  // with a new port and a new server.
  await eventually(async () => {
    const port = await freePort()
    const call = accountsAt(port).retrieveAccount({ accountId: 3 })
    // The server starts after 150 ms, when the first attempt to connect has already been refused.
    const served = pause(150).then(() => serve({ retrieveAccount }, port))
    const [answered] = await Promise.allSettled([call, served])
    expect(answered).toMatchObject({ value: { account } })
  })
})

test('a method that the service does not have yet is unavailable', async () => {
  const server = createGrpcServer({ logger, lifecycle, tokens: [TOKEN] })
  const port = await server.listen({ host: '127.0.0.1', port: 0 })
  const call = accountsAt(port).retrieveAccount({ accountId: 3 })
  await expect(call).rejects.toMatchObject({ code: 'unavailable' })
})

test('a call fails as unavailable without a server', async () => {
  const call = accountsAt(await freePort()).retrieveAccount({ accountId: 3 })
  await expect(call).rejects.toMatchObject({ code: 'unavailable' })
})

test('a call fails as unavailable when its server is killed while the connection drains', async () => {
  const server = createHttp2Server()
  server.once('connection', (socket) => {
    server.once('stream', ({ session, id }) => {
      session!.goaway(0, id)
      // The client has read the GOAWAY frame when it answers the ping.
      session!.ping(() => socket.resetAndDestroy())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const call = accountsAt((server.address() as AddressInfo).port).retrieveAccount({ accountId: 3 })
  await expect(call).rejects.toMatchObject({ code: 'unavailable' })
  server.close()
})

test('a service error arrives as it was thrown, and any other as internal', async () => {
  const fieldErrors = { name: ['It is empty.', 'It is wrong.'], 'quotes.0.status': ['It is unknown.'] }
  const errors: Error[] = [
    ServiceError.invalid(fieldErrors),
    new ServiceError('conflict', 'It is in flight.'),
    new Error('a bug'),
  ]
  const accounts = accountsAt(await serve({ retrieveAccount: () => Promise.reject(errors.shift()) }))
  const call = () => accounts.retrieveAccount({ accountId: 3 })
  await expect(call()).rejects.toMatchObject({
    code: 'invalid',
    detail: 'The given data was invalid.',
    fieldErrors,
  })
  await expect(call()).rejects.toMatchObject({
    code: 'conflict',
    detail: 'It is in flight.',
    fieldErrors: {},
  })
  await expect(call()).rejects.toMatchObject({ code: 'internal' })
})

test('what is left of the time travels with a call: the server hears when it is over', async () => {
  let heard = false
  const hear = () => {
    heard = true
  }
  const port = await serve({
    retrieveAccount: (_request, { signal }) => {
      if (signal.aborted) hear()
      signal.addEventListener('abort', hear)
      return new Promise(() => {})
    },
  })
  const accounts = accountsAt(port)
  // On a busy machine a call may time out before it is sent. The server never sees such a call.
  await eventually(async () => {
    const deadline = new Date(Date.now() + 50)
    const call = accounts.retrieveAccount({ accountId: 3 }, { deadline })
    await expect(call).rejects.toMatchObject({ code: 'late' })
    expect(heard).toBe(true)
  })
})

test('however many callers hang up, other calls are answered', async () => {
  const answers: ((response: { account: typeof account }) => void)[] = []
  const port = await serve({
    retrieveAccount: ({ accountId }) =>
      accountId === 3 ? retrieveAccount() : new Promise((resolve) => answers.push(resolve)),
  })
  const accounts = accountsAt(port)
  for (let round = 0; round < 15; round++) {
    const other = accounts.retrieveAccount({ accountId: 1 })
    const controllers = Array.from({ length: 100 }, () => new AbortController())
    const calls = controllers.map(({ signal }) => accounts.retrieveAccount({ accountId: 2 }, { signal }))
    const ended = Promise.allSettled(calls)
    // This call follows the others on the connection, so the others have arrived when this call succeeds.
    await accounts.retrieveAccount({ accountId: 3 })
    for (const controller of controllers) controller.abort()
    expect((await ended).map(({ status }) => status)).toEqual(calls.map(() => 'rejected'))
    for (const answer of answers.splice(0)) answer({ account })
    await expect(other).resolves.toEqual({ account })
  }
})

describe('the token between services', () => {
  test.each([
    ['the first', [TOKEN], true],
    ['the second, while tokens are exchanged', ['the-token-before-it'], true],
    ['another', ['another-token-than-it'], false],
    ['none', [], false],
  ])('%s', async (_name, tokens, admitted) => {
    const call = accountsAt(await serve({ retrieveAccount }), tokens).retrieveAccount({ accountId: 3 })
    if (admitted) await expect(call).resolves.toEqual({ account })
    else await expect(call).rejects.toMatchObject({ code: 'internal' })
  })

  test('health needs none', async () => {
    const port = await serve({})
    await eventually(connectGrpc(`127.0.0.1:${port}`, { lifecycle, tokens: [] }).check)
  })
})
