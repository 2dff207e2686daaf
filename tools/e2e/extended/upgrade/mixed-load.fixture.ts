import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '@leadwire/test-kit'
import { createClient, type RequestOptions } from '../../support/client'
import { LEAD, type Lead } from '../../support/stage'

const CLIENTS = 3
const APART_MS = 200

export type MixedLoad = ReturnType<typeof startMixedLoad>

/**
 * Starts clients that create, read, list and update leads, and attach and download files. The clients rotate
 * over the gateways in use, as a load balancer does, and never retry. `failures` describes every unexpected
 * response.
 */
export const startMixedLoad = ({
  bases,
  token,
  userEmail,
}: {
  bases: string[]
  token: string
  /** The e-mail address of a user. Each lead is assigned to this user, with a notification. */
  userEmail?: string
}) => {
  const assignment = userEmail === undefined ? {} : { user_email: userEmail, notify: true }
  const accepted: string[] = []
  const changed: string[] = []
  const failures: string[] = []
  const clients = new Map(bases.map((base) => [base, createClient(base, { token })]))
  let [inUse, turn, running, longestMs] = [bases, 0, true, 0]

  const ask = async <T>(method: string, path: string, options: RequestOptions = {}): Promise<T> => {
    const base = inUse[turn++ % inUse.length]!
    const began = performance.now()
    const answer = await clients.get(base)!.request<{ data: T }>(method, path, options)
    longestMs = Math.max(longestMs, performance.now() - began)
    if (answer.status !== 200)
      throw new Error(`${base} ${method} ${path} ${answer.status} ${answer.text.slice(0, 300)}`)
    return (answer.json?.data ?? answer.text) as T
  }

  const attach = async (reference: string, text: string) => {
    const multipart = [
      { name: 'name', value: 'Note' },
      { name: 'file', value: text, fileName: 'note.txt', type: 'text/plain' },
    ]
    const { url } = await ask<{ url: string }>('POST', `/leads/${reference}/attachments`, { multipart })
    const read = await ask<string>('GET', new URL(url).pathname)
    if (read !== text) throw new Error(`${url} differs from the attached file`)
  }

  const live = async () => {
    const headers = { 'idempotency-key': randomUUID() }
    const { reference } = await ask<Lead>('POST', '/leads', { json: LEAD, headers })
    accepted.push(reference)
    await ask<Lead>('PATCH', `/leads/${reference}`, { json: { value: accepted.length, ...assignment } })
    changed.push(reference)
    const { value } = await ask<Lead>('GET', `/leads/${reference}`)
    if (value === 0) throw new Error(`${reference} has not changed`)
    await ask('GET', '/leads')
    if (accepted.length % 5 === 0) await attach(reference, `Ring twice, ${reference}\n`)
  }

  const work = async () => {
    while (running) {
      await live().catch((error: Error) => failures.push(`${new Date().toISOString()} ${error.message}`))
      await pause(APART_MS)
    }
  }
  const workers = Array.from({ length: CLIENTS }, work)
  return {
    /** The references of the created leads. */
    accepted,
    /** The references of the updated leads. */
    changed,
    failures,
    /** Returns the duration of the longest request so far. */
    longestMs: () => longestMs,
    resetLongest: () => {
      longestMs = 0
    },
    /** Sends further requests to these gateways only. */
    use: (some: string[]) => {
      inUse = some
    },
    /** Waits until `count` more leads are created. */
    moves: async (count: number) => {
      const goal = accepted.length + count
      await eventually(() => expect(accepted.length).toBeGreaterThanOrEqual(goal))
    },
    stop: async () => {
      running = false
      await Promise.all(workers)
      await Promise.all([...clients.values()].map((client) => client.close()))
    },
  }
}
