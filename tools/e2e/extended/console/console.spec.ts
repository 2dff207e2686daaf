import { eventually } from '@leadwire/test-kit'
import { violations } from '../../support/axe'
import { describeConsole, findParts } from '../../support/console'
import { startStage } from '../../support/stage'

describeConsole('the console', startStage, (world) => {
  const kept = () =>
    world.page.evaluate('[Object.values(sessionStorage), Object.values(localStorage), document.cookie]')
  const { heading, open, signIn } = world
  const { dialog, button, link } = findParts(world)
  const navigation = () => world.page.getByRole('navigation', { name: 'Console' })
  const press = (key: string) => world.page.keyboard.press(key)
  const describeFocus = () =>
    world.page.evaluate('document.activeElement.name || document.activeElement.textContent')

  /** The input of the dialog for jumping, when it has the focus. */
  const jumpInput = () => world.page.locator('[role=combobox]:focus')
  const option = (text: string) => dialog().getByRole('option').filter({ hasText: text })

  /** Opens the dialog, enters a text, and waits for an option. */
  const findByKeys = async (text: string, name: string) => {
    await press('Control+k')
    await jumpInput().waitFor()
    await world.page.keyboard.type(text)
    await option(name).waitFor()
  }

  test('a token is stored for one tab, until the user signs out', async () => {
    await open('/endpoints')
    await heading('Endpoints').waitFor()
    expect(await kept()).toEqual([[world.tenant.token], [], ''])
    const header = world.page.getByRole('banner')
    await header.getByText('first', { exact: true }).waitFor()
    // A token has no page of sessions.
    expect(await header.getByRole('link', { name: 'first', exact: true }).count()).toBe(0)
    await world.page.reload()
    await heading('Endpoints').waitFor()
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
    await open('/endpoints')
    await heading('Endpoints').waitFor()
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

  test('the navigation has three groups, marks the current page, and can be skipped', async () => {
    await open('/endpoints')
    await heading('Endpoints').waitFor()
    const groups = navigation().getByRole('group')
    expect(await groups.allInnerTexts()).toEqual([
      expect.stringMatching(/^Sales\n.*Leads\nImports\nExports$/s),
      'Webhooks\nEndpoints\nDeliveries',
      'Settings\nUsers\nWebsite forms\nTokens\nNotifications\nAudit log\nAccount',
    ])
    expect(await groups.first().getAttribute('aria-labelledby')).toBeTruthy()
    const current = () => navigation().locator('[aria-current=page]').allInnerTexts()
    expect(await current()).toEqual(['Endpoints'])
    await link('Audit log').click()
    await heading('Audit log').waitFor()
    expect(await current()).toEqual(['Audit log'])
    await link('Skip to the content').focus()
    await press('Enter')
    await world.page.locator('main:focus').waitFor()
  })

  test('on a phone the navigation is in a drawer, which closes by Escape and on navigation', async () => {
    await world.newTab(390)
    const { page } = world
    await open('/endpoints')
    await heading('Endpoints').waitFor()
    expect(await navigation().count()).toBe(0)
    const menu = page.getByRole('banner').getByRole('button', { name: 'Menu', exact: true })
    await menu.click()
    await dialog().getByText('Spec', { exact: true }).waitFor()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect([colorScheme, await violations(page)]).toEqual([colorScheme, []])
    }
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    await press('Escape')
    await dialog().waitFor({ state: 'hidden' })
    expect(await describeFocus()).toBe('Menu')

    await menu.click()
    await link('Tokens').click()
    await heading('Tokens').waitFor()
    expect(await dialog().count()).toBe(0)
    await menu.click()
    await link('Tokens').click()
    await dialog().waitFor({ state: 'hidden' })

    // A wide window replaces an open drawer with the sidebar.
    await menu.click()
    await page.setViewportSize({ width: 1280, height: 800 })
    await dialog().waitFor({ state: 'hidden' })
    await page.getByRole('banner').getByRole('link', { name: 'Tokens' }).waitFor()
    await page.setViewportSize({ width: 390, height: 800 })
    await menu.click()
    await dialog().getByRole('button', { name: 'Sign out' }).click()
    await heading('Sign in').waitFor()
  })

  test('Ctrl+K finds a lead, an endpoint and a page, with the keyboard alone', async () => {
    const { tenant, page } = world
    const { reference } = await tenant.createLead()
    const { reference: second } = await tenant.createLead({ name: 'Roof', first_name: 'Grace' })
    await tenant.listen({ description: 'CRM' })
    await eventually(async () =>
      expect(await tenant.send<object[]>('GET', '/manage/leads?q=lovelace')).toHaveLength(2),
    )
    await open('/account')
    await heading('Account').waitFor()
    await findByKeys('lovelace', 'Ada Lovelace')
    expect(await option('').allTextContents()).toEqual([
      `Grace Lovelace Roof ${second.slice(0, 8)}`,
      `Ada Lovelace Bay window ${reference.slice(0, 8)}`,
    ])
    await world.inspect('jump')
    await press('ArrowDown')
    await press('Enter')
    await heading('Ada Lovelace: Bay window Open').waitFor()
    expect(page.url()).toMatch(new RegExp(`/console/leads/${reference}$`))

    await findByKeys(second.toUpperCase(), 'Grace Lovelace')
    await press('Enter')
    await heading('Grace Lovelace: Roof Open').waitFor()
    await findByKeys('crm', 'CRM')
    await press('Enter')
    await heading('CRM No traffic').waitFor()
    await findByKeys('tok', 'Tokens')
    await press('Enter')
    await heading('Tokens').waitFor()
    await page.locator('h1:focus').waitFor()

    await press('Control+k')
    await jumpInput().waitFor()
    await page.keyboard.type('no such thing')
    await dialog().getByText('Nothing matches.').waitFor()
    await press('Escape')
    await dialog().waitFor({ state: 'hidden' })
    expect(await describeFocus()).toBe('Tokens')
    await button('New token').click()
    await press('Control+k')
    await press('Escape')
    await dialog().waitFor({ state: 'hidden' })
  })

  test('a slash moves to the search field of the page, or else opens the dialog', async () => {
    await open('/leads')
    await world.page.locator('h1:focus').waitFor()
    await press('/')
    expect(await describeFocus()).toBe('q')
    await press('/')
    expect(await world.page.locator('[name=q]').inputValue()).toBe('/')
    await link('Account').click()
    await world.page.locator('h1:focus').filter({ hasText: 'Account' }).waitFor()
    await press('/')
    await jumpInput().waitFor()
    expect(await jumpInput().inputValue()).toBe('')
  })

  test('the dialog lists only the pages of a token, and searches only what the token may read', async () => {
    const { token } = await world.tenant.newToken({ scopes: ['webhooks'] })
    await world.tenant.listen({ description: 'Lovelace' })
    await open('/endpoints', token)
    await heading('Endpoints').waitFor()
    await world.page.getByRole('button', { name: 'Jump to…' }).click()
    await jumpInput().waitFor()
    expect(await option('').allTextContents()).toEqual(['Endpoints Webhooks', 'Deliveries Webhooks'])
    const requested: string[] = []
    world.page.on('request', (request) => requested.push(new URL(request.url()).pathname))
    await world.page.keyboard.type('lovelace')
    await option('Lovelace').click()
    await heading('Lovelace No traffic').waitFor()
    expect(requested.filter((path) => path.endsWith('/leads'))).toEqual([])
  })
})
