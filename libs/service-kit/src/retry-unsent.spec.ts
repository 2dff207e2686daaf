import { createServer } from 'node:net'
import { connectGrpc, createGrpcServer, createLifecycle, createLogger } from './index'

const logger = createLogger({ service: 'spec', level: 'silent' })

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })

const connectTo = async () => {
  const port = await freePort()
  const lifecycle = createLifecycle(logger)
  return { port, lifecycle, connection: connectGrpc(`127.0.0.1:${port}`, lifecycle) }
}

test('a call waits for a server that comes a moment later', async () => {
  const { port, lifecycle, connection } = await connectTo()
  const call = connection.check()
  // The first attempt has been refused by then; it is not what is waited for.
  setTimeout(() => void createGrpcServer({ logger, lifecycle }).listen({ host: '127.0.0.1', port }), 150)
  await expect(call).resolves.toBeUndefined()
  await lifecycle.stop()
})

test('a call fails as unavailable where nobody comes', async () => {
  const { lifecycle, connection } = await connectTo()
  await expect(connection.check()).rejects.toMatchObject({ code: 'unavailable' })
  await lifecycle.stop()
})
