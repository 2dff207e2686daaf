import { natsOptions } from '@leadwire/service-kit'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { startNats } from './nats'

test('a server of its own keeps its messages over a kill, and loses them when told to', async () => {
  const nats = await startNats()
  const connected = async <T>(work: (client: NatsConnection) => Promise<T>) => {
    const client = await connect(natsOptions({ NATS_URL: nats.url }))
    try {
      return await work(client)
    } finally {
      await client.close()
    }
  }
  const streamState = () =>
    connected(async (client) => {
      const manager = await jetstreamManager(client)
      return (await manager.streams.info('SPEC')).state
    })

  try {
    await connected(async (client) => {
      expect(client.info?.max_payload).toBe(8 * 2 ** 20)
      const manager = await jetstreamManager(client)
      await manager.streams.add({ name: 'SPEC', subjects: ['spec.>'] })
      await jetstream(client).publish('spec.one', 'x')
    })
    await nats.kill()
    await nats.restart()
    expect(await streamState()).toMatchObject({ messages: 1 })

    await nats.restart({ empty: true })
    await expect(streamState()).rejects.toThrow('not found')
  } finally {
    await nats.stop()
  }
})
