import { connect as connectTo } from 'node:net'
import type { components, Leadwire } from '@leadwire/client'

const DESCRIPTION = 'leadwire listen'

type Request = components['schemas']['CreateWebhookEndpointRequest']

/** Whether the port of an endpoint is open: that of a `listen` that was killed is not. */
const isOpen = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connectTo(Number(new URL(url).port), '127.0.0.1', () => socket.destroy())
    socket.once('close', (failed) => resolve(!failed)).on('error', () => undefined)
  })

export const removeEndpoint = ({ api }: Leadwire, id: number) =>
  api.DELETE('/manage/webhook-endpoints/{id}', { params: { path: { id } } })

/**
 * Removes the endpoints that `listen` leaves when it is killed, and names those that may be in use. What had this
 * process's address is gone: the port is ours.
 */
export const removeLeftBehind = async (leadwire: Leadwire, own: string, print: (line: string) => void) => {
  const { data } = (await leadwire.api.GET('/manage/webhook-endpoints')).data!
  for (const { id, url, description } of data) {
    if (description !== DESCRIPTION) continue
    const isLocal = /^http:\/\/127\.0\.0\.1:\d+\/$/.test(url)
    if (url === own || (isLocal && !(await isOpen(url)))) {
      await removeEndpoint(leadwire, id)
      print(`endpoint ${id} removed: nothing listens on ${url}`)
    } else {
      print(`endpoint ${id} stays: something ${isLocal ? 'listens' : 'may listen'} on ${url}`)
    }
  }
}

/** Registers an address. Resolves with its id. */
export const addEndpoint = async ({ api }: Leadwire, request: Request): Promise<number> => {
  const key = { 'Idempotency-Key': crypto.randomUUID() }
  const body = { ...request, description: DESCRIPTION }
  return (await api.POST('/manage/webhook-endpoints', { body, params: { header: key } })).data!.data.id
}
