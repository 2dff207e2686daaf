import type { Demo } from './demo-account'
import { writeJson } from './write-json'

type Endpoint = { id: number; url: string; secret: string }

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
  if (demo.webhook?.url === url && (await exists(demo, base))) return demo
  const { id, secret } = await register(demo, base, url)
  const changed: Demo = { ...demo, webhook: { id, url, secret } }
  await writeJson(path, changed)
  return changed
}

async function exists({ token, webhook }: Demo, base: string): Promise<boolean> {
  const answer = await fetch(`${base}/manage/webhook-endpoints/${webhook?.id}`, { headers: headers(token) })
  await answer.body?.cancel()
  return answer.status === 200
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
  return data
}

function headers(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}
