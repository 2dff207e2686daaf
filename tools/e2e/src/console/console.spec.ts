import { startStage } from '../stage.fixture'
import { describeConsole } from './console.fixture'

describeConsole('the console', startStage, (world) => {
  const kept = () =>
    world.page.evaluate('[Object.values(sessionStorage), Object.values(localStorage), document.cookie]')
  const { heading, open, signIn } = world

  test('a token is kept for all tabs or for one, until the reader signs out', async () => {
    await open()
    await heading('Endpoints').waitFor()
    expect(await kept()).toEqual([[], [world.tenant.token], ''])
    await world.page.reload()
    await heading('Endpoints').waitFor()
    const other = await world.page.context().newPage()
    await other.goto(`${world.stage.system.baseUrl}/console/endpoints`)
    await other.getByRole('heading', { level: 1, name: 'Endpoints' }).waitFor()
    await world.page.getByRole('button', { name: 'Sign out' }).click()
    await heading('Sign in').waitFor()
    await other.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    expect(await kept()).toEqual([[], [], ''])
    await world.page.getByLabel('Stay signed in in this browser').uncheck()
    await signIn()
    await heading('Endpoints').waitFor()
    expect(await kept()).toEqual([[world.tenant.token], [], ''])
  })

  test('a wrong token is refused, a revoked one asks again and leads back to where it was', async () => {
    world.expected = [/401 \(Unauthorized\)/]
    await open('/endpoints?from=a-colleague', 'lw_live_wrong')
    await world.page.getByText('The token is not valid: it is unknown, revoked or expired.').waitFor()
    const { id, token } = await world.tenant.newToken({ scopes: ['manage', 'leads'] })
    await signIn(token)
    await heading('Endpoints').waitFor()
    await world.tenant.send('DELETE', `/manage/tokens/${id}`)
    await heading('Sign in').waitFor()
    await signIn()
    await heading('Endpoints').waitFor()
    expect(world.page.url()).toMatch(/\/console\/endpoints\?from=a-colleague$/)
  })

  test('what can not stand in a header is no token', async () => {
    await open('', 'täu’schung')
    await world.page.getByText('That is not a token.').waitFor()
  })

  test('links of earlier releases lead to the same place', async () => {
    await open('#/endpoints')
    await heading('Endpoints').waitFor()
    expect(world.page.url()).toMatch(/\/console\/endpoints$/)
  })

  test('a token sees the pages that its scopes allow', async () => {
    world.expected = [/403 \(Forbidden\)/]
    const { token } = await world.tenant.newToken({ scopes: ['leads:read'] })
    await open('/endpoints', token)
    await heading('Forbidden').waitFor()
    const main = world.page.getByRole('main')
    expect(await main.innerText()).toContain('The token lacks the scope webhooks.')
    expect(await world.page.getByRole('link', { name: 'Endpoints' }).count()).toBe(0)
    await world.page.getByRole('button', { name: 'Use another token' }).click()
    await signIn()
    await heading('Endpoints').waitFor()
  })

  test('while the gateway is unavailable the page stays and says how old it is', async () => {
    world.expected = [/ERR_CONNECTION_REFUSED|503/]
    await world.tenant.listen({ description: 'CRM' })
    await open()
    await world.page.getByText('Live', { exact: true }).waitFor()
    await world.stage.system.kill('gateway')
    try {
      await world.page.getByText(/Not updated since \d\d:\d\d: The API could not be reached/).waitFor()
      expect(await world.page.getByRole('link', { name: 'CRM' }).isVisible()).toBe(true)
    } finally {
      await world.stage.system.restart('gateway')
    }
    await world.page.getByText('Live', { exact: true }).waitFor()
  })

  test('markup made from text is refused by the browser itself', async () => {
    world.expected = [/TrustedHTML/i, /Content Security Policy/i]
    await open()
    await heading('Endpoints').waitFor()
    await expect(world.page.evaluate(`document.body.innerHTML = '<p>'`)).rejects.toThrow(/TrustedHTML/)
  })

  test('the first page is small', async () => {
    await open()
    await heading('Endpoints').waitFor()
    const bytes = await world.page.evaluate(
      `performance.getEntries().filter(({ name }) => /\\/console/.test(name)).reduce((sum, { encodedBodySize }) => sum + (encodedBodySize || 0), 0)`,
    )
    expect(bytes).toBeGreaterThan(10_000)
    expect(bytes).toBeLessThan(50_000)
  })

  test('sign-in and endpoints have no fault that axe knows', async () => {
    await world.tenant.listen({ description: 'CRM' })
    await world.page.goto(`${world.stage.system.baseUrl}/console`)
    await heading('Sign in').waitFor()
    await world.inspect('sign-in')
    await signIn()
    await world.page.getByRole('link', { name: 'CRM' }).waitFor()
    await world.inspect('endpoints')
  })
})
