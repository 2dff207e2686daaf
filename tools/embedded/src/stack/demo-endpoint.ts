import { writeJson } from '../process/replace-file'
import type { Demo, Endpoint } from './demo-account'

/**
 * Registers `url` for the demo account if it is not registered. Stores the secret, which is shown only once.
 */
export async function ensureDemoEndpoint({
  demo,
  path,
  base,
  url,
}: {
  demo: Demo
  path: string
  base: string
  url: string
}): Promise<Demo> {
  const kept = demo.webhooks.find((endpoint) => endpoint.url === url)
  const endpoint = kept && (await exists(kept, demo, base)) ? kept : await register(demo, base, url)
  const others = demo.webhooks.filter((other) => other.url !== url)
  const changed: Demo = { ...demo, webhooks: [...others, endpoint] }
  await writeJson(path, changed)
  return changed
}

export type RegisteredEndpoint = { id: number; url: string; enabled: boolean }

/** Lists all webhook endpoints of the demo account. Returns none if the account is suspended. */
export async function listEndpoints({ token }: Demo, base: string): Promise<RegisteredEndpoint[]> {
  const response = await fetch(`${base}/manage/webhook-endpoints`, { headers: makeHeaders(token) })
  if (response.status === 403) return []
  if (response.status !== 200)
    throw new Error(`the webhook endpoints could not be listed: ${await response.text()}`)
  return ((await response.json()) as { data: RegisteredEndpoint[] }).data
}

async function exists({ id }: Endpoint, { token }: Demo, base: string): Promise<boolean> {
  const response = await fetch(`${base}/manage/webhook-endpoints/${id}`, { headers: makeHeaders(token) })
  await response.body?.cancel()
  // 403 means that the account is suspended.
  return response.status === 200 || response.status === 403
}

async function register({ token }: Demo, base: string, url: string): Promise<Endpoint> {
  const response = await fetch(`${base}/manage/webhook-endpoints`, {
    method: 'POST',
    headers: { ...makeHeaders(token), 'content-type': 'application/json' },
    body: JSON.stringify({ url, description: 'npm start -- --webhook-url' }),
  })
  if (response.status !== 200)
    throw new Error(`${url} could not be registered: ${response.status} ${await response.text()}`)
  const { data } = (await response.json()) as { data: Endpoint }
  return { id: data.id, url, secret: data.secret }
}

function makeHeaders(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}
