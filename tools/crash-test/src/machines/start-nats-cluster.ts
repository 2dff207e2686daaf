import { join } from 'node:path'
import { findNatsServer, freePort, natsReady, natsUrl, spawnNats, whenReady } from '@leadwire/embedded'
import type { Machine, Place } from './machine'

const SERVERS = 3
const PASSWORD = 'leadwire-on-loopback'

interface Cluster {
  leader?: string
  /** The servers with a copy of the stream, apart from the leader. */
  replicas?: unknown[]
}

/** The part of the response of /jsz that this program reads. */
interface Streams {
  account_details?: { stream_detail?: { name: string; cluster?: Cluster }[] }[]
}

const readCluster = async (stream: string, monitorPort: number): Promise<Cluster | undefined> => {
  const response = await fetch(`http://127.0.0.1:${monitorPort}/jsz?accounts=true&streams=true`)
  const { account_details: accounts = [] } = (await response.json()) as Streams
  const streams = accounts.flatMap(({ stream_detail: details = [] }) => details)
  return streams.find(({ name }) => name === stream)?.cluster
}

/** Starts nats-servers as one cluster. */
export const startNatsCluster = async ({ data, onLine, onStop }: Place) => {
  const binary = await findNatsServer(process.env)
  const places = await Promise.all(
    Array.from({ length: SERVERS }, async (_, index) => ({
      name: `nats-${index + 1}`,
      client: await freePort(),
      port: await freePort(),
      monitorPort: await freePort(),
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
    /** Finds the leader of a stream. The leader handles all writes to the stream. */
    findLeader: async (stream: string): Promise<Machine> => {
      const { leader, replicas = [] } = (await readCluster(stream, places[0]!.monitorPort)) ?? {}
      const found = machines.find(({ name }) => name === leader)
      if (!found || replicas.length !== SERVERS - 1)
        throw new Error(`the stream ${stream} has no leader, or does not have a replica on every server`)
      return found
    },
  }
}
