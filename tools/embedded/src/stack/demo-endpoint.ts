import { writeJson } from '../process/replace-file'
import type { Demo, Endpoint } from './demo-account'

/** Registers `url` for the demo account, unless it is registered; the secret is told at creation only, so it is kept. */
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

/** Every webhook endpoint of the demo account, also those it registered itself; none while the account is suspended. */
export async function listEndpoints({ token }: Demo, base: string): Promise<RegisteredEndpoint[]> {
  const answer = await fetch(`${base}/manage/webhook-endpoints`, { headers: headers(token) })
  if (answer.status === 403) return []
  if (answer.status !== 200) throw new Error(`the webhook endpoints were not listed: ${await answer.text()}`)
  return ((await answer.json()) as { data: RegisteredEndpoint[] }).data
}

async function exists({ id }: Endpoint, { token }: Demo, base: string): Promise<boolean> {
  const answer = await fetch(`${base}/manage/webhook-endpoints/${id}`, { headers: headers(token) })
  await answer.body?.cancel()
  // 403: the account is suspended.
  return answer.status === 200 || answer.status === 403
}

async function register({ token }: Demo, base: string, url: string): Promise<Endpoint> {
  const answer = await fetch(`${base}/manage/webhook-endpoints`, {
    method: 'POST',
    headers: { ...headers(token), 'content-type': 'application/json' },
    body: JSON.stringify({ url, description: 'npm start -- --webhook-url' }),
  })
  if (answer.status !== 200)
    throw new Error(`${url} was not registered: ${answer.status} ${await answer.text()}`)
  const { data } = (await answer.json()) as { data: Endpoint }
  return { id: data.id, url, secret: data.secret }
}

function headers(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}
