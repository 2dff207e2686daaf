import { join } from 'node:path'
import { findNatsServer, freePort, natsReady, natsUrl, spawnNats, whenReady } from '@leadwire/embedded'
import type { Machine, Place } from './machine'

const SERVERS = 3
const PASSWORD = 'leadwire-on-loopback'

interface Cluster {
  leader?: string
  /** The other servers that keep the stream. */
  replicas?: unknown[]
}

/** What of a server's own account of its streams this program reads. */
interface Streams {
  account_details?: { stream_detail?: { name: string; cluster?: Cluster }[] }[]
}

const placeOf = async (stream: string, monitorPort: number): Promise<Cluster | undefined> => {
  const answer = await fetch(`http://127.0.0.1:${monitorPort}/jsz?accounts=true&streams=true`)
  const { account_details: accounts = [] } = (await answer.json()) as Streams
  const streams = accounts.flatMap(({ stream_detail: details = [] }) => details)
  return streams.find(({ name }) => name === stream)?.cluster
}

/** nats-servers of one cluster. */
export const startNatsCluster = async ({ data, onLine, onStop }: Place) => {
  const binary = await findNatsServer(process.env)
  const port = () => freePort()
  const places = await Promise.all(
    Array.from({ length: SERVERS }, async (_, index) => ({
      ...{ name: `nats-${index + 1}`, client: await port(), port: await port(), monitorPort: await port() },
    })),
  )
  const routes = places.map(({ port }) => port)
  const start = async ({ client, ...place }: (typeof places)[number]): Promise<Machine> => {
    const directory = join(data, place.name)
    const child = await spawnNats({
      binary,
      directory,
      port: client,
      password: PASSWORD,
      cluster: { ...place, routes },
      onLine,
    })
    onStop(child.stop)
    await whenReady(child, () => natsReady(client), { timeoutMs: 60_000 })
    return { ...child, name: place.name }
  }
  const machines = await Promise.all(places.map(start))
  return {
    machines,
    url: places.map(({ client }) => natsUrl({ port: client, password: PASSWORD })).join(','),
    /** The server through which all that is written to the stream goes. */
    leader: async (stream: string): Promise<Machine> => {
      const { leader, replicas = [] } = (await placeOf(stream, places[0]!.monitorPort)) ?? {}
      const found = machines.find(({ name }) => name === leader)
      if (!found || replicas.length !== SERVERS - 1)
        throw new Error(`the stream ${stream} has no leader, or is not kept by all servers`)
      return found
    },
  }
}
