import { describeConsole } from '../../support/console'
import { startStage } from '../../support/stage'

describeConsole('the console', startStage, (world) => {
  const kept = () =>
    world.page.evaluate('[Object.values(sessionStorage), Object.values(localStorage), document.cookie]')
  const { heading, open, signIn } = world

  test('a token is stored for one tab, until the user signs out', async () => {
    await open()
    await heading('Home').waitFor()
    expect(await kept()).toEqual([[world.tenant.token], [], ''])
    const header = world.page.getByRole('banner')
    await header.getByText('first', { exact: true }).waitFor()
    // A token has no page of sessions.
    expect(await header.getByRole('link', { name: 'first', exact: true }).count()).toBe(0)
    await world.page.reload()
    await heading('Home').waitFor()
    const other = await world.page.context().newPage()
    await other.goto(`${world.stage.system.baseUrl}/console/endpoints`)
    await other.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    await world.page.getByRole('button', { name: 'Sign out' }).click()
    await heading('Sign in').waitFor()
    expect(await kept()).toEqual([[], [], ''])
  })

  test('a text that no header may contain is not accepted as a token', async () => {
    await open('', 'täu’schung')
    await world.page.getByText('This is not a token.').waitFor()
  })

  test('a token opens only the pages that its scopes allow', async () => {
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

  test('while the gateway is unavailable the page stays and shows the time of its last update', async () => {
    // A request may be in flight when the gateway is killed.
    world.expected = [/ERR_(CONNECTION_\w+|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING)|503/]
    await world.tenant.listen({ description: 'CRM' })
    await open('/endpoints')
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

  test('the browser refuses markup made from text', async () => {
    world.expected = [/TrustedHTML/i, /Content Security Policy/i]
    await open()
    await heading('Home').waitFor()
    await expect(world.page.evaluate(`document.body.innerHTML = '<p>'`)).rejects.toThrow(/TrustedHTML/)
  })

  test('the first page has less than 90 kB', async () => {
    await open()
    await heading('Home').waitFor()
    const bytes = await world.page.evaluate(
      `performance.getEntries().filter(({ name }) => /\\/console/.test(name)).reduce((sum, { encodedBodySize }) => sum + (encodedBodySize || 0), 0)`,
    )
    expect(bytes).toBeGreaterThan(10_000)
    expect(bytes).toBeLessThan(90_000)
  })
})
