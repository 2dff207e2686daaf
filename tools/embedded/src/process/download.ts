import { EnvHttpProxyAgent, request } from 'undici'

/**
 * Fetches a file, following redirects, through the proxy the environment names. Where the network says nothing it
 * gives up after 3 s.
 */
export async function download(url: string): Promise<Buffer> {
  const dispatcher = new EnvHttpProxyAgent({
    connect: { timeout: 3000 },
    headersTimeout: 10_000,
    bodyTimeout: 20_000,
  })
  try {
    return await follow(url, 5)
  } finally {
    await dispatcher.destroy()
  }

  async function follow(address: string, redirectsLeft: number): Promise<Buffer> {
    const { statusCode, headers, body } = await request(address, { dispatcher })
    if (statusCode === 200) return Buffer.from(await body.arrayBuffer())
    await body.dump()
    const location = headers['location']
    if (statusCode < 300 || statusCode >= 400 || typeof location !== 'string' || redirectsLeft === 0) {
      throw new Error(`${address} answered ${statusCode}`)
    }
    return follow(new URL(location, address).href, redirectsLeft - 1)
  }
}
