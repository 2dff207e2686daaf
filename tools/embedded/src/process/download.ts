import { EnvHttpProxyAgent, request } from 'undici'

/**
 * Downloads a file. Follows redirects and uses the proxy of the environment. Fails after 3 s if the server
 * can't be reached.
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
      throw new Error(`${address} responded with ${statusCode}`)
    }
    return follow(new URL(location, address).href, redirectsLeft - 1)
  }
}
