import { createServer } from 'node:net'
import { LeadsServiceDefinition, type LeadsServiceImplementation } from '@leadwire/contracts'
import { connectGrpc, createGrpcServer, createLifecycle, createLogger, ServiceError } from './index'

const logger = createLogger({ service: 'spec', level: 'silent' })
const lifecycle = createLifecycle(logger)
afterAll(() => lifecycle.stop())

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })

const serve = (getLeads: LeadsServiceImplementation['getLeads']) => {
  const server = createGrpcServer({ logger, lifecycle })
  const unused = async () => {
    throw new Error('not asked for')
  }
  const names = Object.keys(LeadsServiceDefinition.methods)
  const others = Object.fromEntries(names.map((name) => [name, unused]))
  server.add(LeadsServiceDefinition, { ...others, getLeads } as unknown as LeadsServiceImplementation)
  return server.listen({ host: '127.0.0.1', port: 0 })
}

const getLeadsAt = (port: number, deadlineMs = 5000) =>
  connectGrpc(`127.0.0.1:${port}`, lifecycle).call(
    LeadsServiceDefinition.fullName,
    LeadsServiceDefinition.methods.getLeads,
    { deadlineMs },
  )

const asked = { leads: [{ accountId: 7, reference: 'r' }] }

test('a request comes and goes whole', async () => {
  const port = await serve(async (request) => ({
    results: [{ result: { $case: 'body', value: Buffer.from(JSON.stringify(request)) } }],
  }))
  const { results } = await getLeadsAt(port)(asked)
  expect(JSON.parse(String(results[0]!.result!.value))).toEqual(asked)
})

test('a failure is the one that was thrown, and what nobody foresaw is internal', async () => {
  const errors = [ServiceError.invalid({ name: ['It is wrong.'] }), new Error('a bug')]
  const getLeads = getLeadsAt(
    await serve(async () => {
      throw errors.shift()
    }),
  )
  await expect(getLeads(asked)).rejects.toMatchObject({ code: 'invalid', faults: { name: ['It is wrong.'] } })
  await expect(getLeads(asked)).rejects.toMatchObject({ code: 'internal' })
})

test('a call that is not answered in time is late', async () => {
  let answer: (response: { results: [] }) => void = () => undefined
  const port = await serve(
    () =>
      new Promise((resolve) => {
        answer = resolve
      }),
  )
  await expect(getLeadsAt(port, 50)(asked)).rejects.toMatchObject({ code: 'late' })
  answer({ results: [] })
})

test('a call is unavailable where nobody listens', async () => {
  await expect(getLeadsAt(await freePort())(asked)).rejects.toMatchObject({ code: 'unavailable' })
})
