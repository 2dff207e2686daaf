import { HealthDefinition } from '@leadwire/contracts'
import { eventually } from '@leadwire/test-kit'
import { type Client, createChannel, createClient } from 'nice-grpc'
import { connectGrpc, createGrpcServer, createLifecycle, createLogger } from '../index'

const logger = createLogger({ service: 'spec', level: 'silent' })

const startScene = async () => {
  const lifecycle = createLifecycle(logger)
  let database: () => Promise<unknown> = async () => undefined
  const checks = [{ name: 'database', check: () => database() }]
  const server = createGrpcServer({ logger, lifecycle, tokens: [], checks })
  server.add({ ...HealthDefinition, fullName: 'spec.Service' }, {
    check: async () => ({ status: 0 }),
    async *watch() {},
  } as never)
  const target = `127.0.0.1:${await server.listen({ host: '127.0.0.1', port: 0 })}`
  const channel = createChannel(target)
  const clients = createLifecycle(logger)
  clients.onStop('channel', () => channel.close())
  const health: Client<typeof HealthDefinition> = createClient(HealthDefinition, channel)
  return {
    lifecycle,
    clients,
    health,
    connection: connectGrpc(target, { lifecycle: clients, tokens: [] }),
    checkStatus: async (service: string) => (await health.check({ service })).status,
    databaseIs: (there: boolean) => {
      database = there ? async () => undefined : () => Promise.reject(new Error('unavailable'))
    },
  }
}

const [SERVING, NOT_SERVING] = [1, 2]

test('the server and each of its services serve while its checks pass', async () => {
  const { checkStatus, databaseIs, connection, lifecycle, clients } = await startScene()
  for (const service of ['', 'spec.Service']) expect(await checkStatus(service)).toBe(SERVING)
  await eventually(connection.check)
  await expect(checkStatus('spec.Other')).rejects.toMatchObject({ details: 'unknown service' })
  databaseIs(false)
  for (const service of ['', 'spec.Service']) expect(await checkStatus(service)).toBe(NOT_SERVING)
  // On a busy machine, one of the calls of a check may time out instead.
  await eventually(() => expect(connection.check()).rejects.toMatchObject({ code: 'unavailable' }))
  databaseIs(true)
  for (const service of ['', 'spec.Service']) expect(await checkStatus(service)).toBe(SERVING)
  await clients.stop()
  await lifecycle.stop()
})

test('a watch reports a drain at once, and does not delay it', async () => {
  const { checkStatus, health, lifecycle, clients } = await startScene()
  const watch = health.watch({ service: 'spec.Service' })[Symbol.asyncIterator]()
  expect((await watch.next()).value).toEqual({ status: SERVING })
  let release = () => {}
  // This part delays the stop of the server, so that the server still responds.
  lifecycle.onStop('slow', () => new Promise<void>((resolve) => (release = resolve)))
  const stopped = lifecycle.stop()
  expect(await checkStatus('')).toBe(NOT_SERVING)
  expect((await watch.next()).value).toEqual({ status: NOT_SERVING })
  expect((await watch.next()).done).toBe(true)
  release()
  await stopped
  await clients.stop()
})

test('a watch reports a change', async () => {
  const { health, lifecycle, clients, databaseIs } = await startScene()
  const watch = health.watch({ service: '' })[Symbol.asyncIterator]()
  expect((await watch.next()).value).toEqual({ status: SERVING })
  databaseIs(false)
  expect((await watch.next()).value).toEqual({ status: NOT_SERVING })
  await lifecycle.stop()
  await clients.stop()
})
