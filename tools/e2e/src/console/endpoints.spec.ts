import { eventually } from '@leadwire/test-kit'
import { joinStage } from '../stage.fixture'
import { describeConsole, IMPATIENT } from './console.fixture'

const start = () => joinStage({ env: IMPATIENT })

describeConsole('endpoints in the console', start, (world) => {
  const { heading, open } = world
  const button = (name: string) => world.page.getByRole('button', { name, exact: true })
  const link = (name: string) => world.page.getByRole('link', { name, exact: true })
  const said = (text: string | RegExp) => world.page.getByRole('status').getByText(text)
  const row = (text: string) => world.page.getByRole('row').filter({ hasText: text })

  test('one is created, with errors at the fields and its secret shown once; then edited', async () => {
    world.expected = [/422/]
    const { receiver } = await world.tenant.listen()
    await open('/endpoints/new')
    await heading('New endpoint').waitFor()
    await world.page.getByLabel('URL').fill('ftp://crm.example.com')
    await world.page.getByLabel('Lead created').uncheck()
    await button('Create').click()
    await world.page.locator('#url-error').waitFor()
    expect(await world.page.locator('#events-error').isVisible()).toBe(true)
    expect(await world.page.getByLabel('URL').getAttribute('aria-describedby')).toBe('url-help url-error')
    await world.inspect('new-endpoint')

    await world.page.getByLabel('URL').fill(`${receiver.url}?new`)
    await world.page.getByLabel('Name').fill('CRM')
    await world.page.getByLabel('Lead updated').check()
    await world.page.getByLabel('Leads', { exact: true }).selectOption('Live leads only')
    await world.page.getByText('Filter', { exact: true }).click()
    await world.page.getByLabel('Open', { exact: true }).check()
    await world.page.getByLabel('Website', { exact: true }).check()
    await world.page.getByLabel('Postcodes').fill('1AA')
    await button('Create').click()
    await world.page.getByText('must be the start of a UK postcode').waitFor()
    await world.page.getByLabel('Postcodes').fill('sw1a, m1')
    await world.page.getByLabel('Own headers').fill('X-Team: sales\nAuthorization: Bearer a:b')
    await button('Create').click()
    await heading('CRM No traffic').waitFor()
    const secret = await world.page.getByText(/^whsec_/).innerText()
    await world.inspect('secret')
    await world.page.reload()
    await heading('CRM No traffic').waitFor()
    expect(await world.page.getByText(secret).count()).toBe(0)

    await world.page
      .getByText('Only of leads with: Status Open. Referrer Website. Postcode SW1A or M1.')
      .waitFor()
    await world.page.getByText('Webhooks come from 192.0.2.10, 2001:db8::/64.').waitFor()
    await link('Edit').click()
    await world.page.getByLabel('Website', { exact: true }).uncheck()
    await world.page.getByLabel('Own headers').fill('authorization\nX-Team: support')
    await world.page.getByLabel('Lead created').check()
    await button('Save').click()
    await said('Saved.').waitFor()
    await world.page.getByText('Live leads only. Events: Lead created, Lead updated.').waitFor()
    await world.page.getByText('Only of leads with: Status Open. Postcode SW1A or M1.').waitFor()
    await world.tenant.createLead()
    const sent = await eventually(() => {
      const found = receiver.requests.find(({ url }) => url.endsWith('?new'))
      expect(found).toBeDefined()
      return found!
    })
    expect(sent.headers).toMatchObject({ authorization: 'Bearer a:b', 'x-team': 'support' })
  })

  test('the failing ones are first; a refresh brings what is new without taking the focus', async () => {
    const { receiver } = await world.tenant.listen({ description: 'CRM' })
    const { receiver: broken } = await world.tenant.listen({ description: 'Broken' })
    await world.tenant.listen({ description: 'Silent', enabled: false })
    receiver.answerWith((_, index) => ({ status: index % 13 === 12 ? 200 : 500 }))
    broken.answerWith({ status: 500 })
    await open()
    await row('CRM').getByText('never').waitFor()
    await row('CRM').getByRole('link', { name: 'CRM' }).focus()
    for (let count = 0; count < 3; count += 1) await world.tenant.createLead()
    await row('CRM').getByText('Failing').waitFor()
    await row('CRM')
      .getByText(/^\d\.\d % of 1[3-8] attempts succeeded$/)
      .waitFor()
    await row('Broken').getByText('0 % of 18 attempts succeeded').waitFor()
    expect(await row('Silent').getByRole('link', { name: '3' }).getAttribute('href')).toMatch(/status=held$/)
    expect(await world.page.evaluate('document.activeElement.textContent')).toBe('CRM')
    await world.tenant.listen({ description: 'x'.repeat(255) })
    await row('xxx').waitFor()
    const names = await world.page.getByRole('rowheader').getByRole('link').allInnerTexts()
    expect(names.map((name) => name.slice(0, 6))).toEqual(['CRM', 'Broken', 'Silent', 'xxxxxx'])
    await world.inspect('failing-endpoints')
  })

  test('it is disabled after a question, enabled, its secret rotated, and deleted', async () => {
    const { receiver, id, secret } = await world.tenant.listen({ description: 'CRM' })
    await open(`/endpoints/${id}`)
    await button('Disable').click()
    const dialog = world.page.getByRole('dialog')
    expect(await dialog.innerText()).toContain('Waiting now: 0 deliveries. They are paused (held) and kept')
    await world.inspect('disable')
    await world.page.keyboard.press('Escape')
    expect(await world.page.evaluate('document.activeElement.textContent')).toBe('Disable')
    await button('Disable').click()
    await dialog.getByRole('button', { name: 'Disable' }).click()
    await heading('CRM Disabled').waitFor()
    // It could only be held, and the API would refuse a recovery.
    for (const name of ['Send a test', 'Retry failed deliveries']) expect(await button(name).count()).toBe(0)
    await world.tenant.createLead()
    await row('Paused (held)').waitFor()
    await button('Enable').click()
    await said('Enabled: what was paused is sent.').waitFor()
    await eventually(() => expect(receiver.requests).toHaveLength(1))
    await heading('CRM Healthy').waitFor()

    await button('Rotate secret').click()
    await dialog.getByRole('button', { name: 'Rotate' }).click()
    await world.page.getByText(/^Until .* X-SERVICE-Signature is made with the old secret/).waitFor()
    expect(await world.page.getByText(/^whsec_/).innerText()).not.toBe(secret)
    await button('I have stored it').click()
    expect(await world.page.getByText(/^whsec_/).count()).toBe(0)

    await world.page.getByText('Show as table').click()
    await world.page.getByRole('row', { name: /^\d\d:00 1 0$/ }).waitFor()
    await button('Delete').click()
    expect(await dialog.innerText()).toContain('Waiting or paused now: 0 deliveries. They are cancelled.')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await said('CRM is deleted.').waitFor()
    await world.page.getByText('No endpoint receives webhooks yet.').waitFor()
  })

  test('what is wrong with a dialog’s field is said in the dialog', async () => {
    world.expected = [/422/]
    const { id } = await world.tenant.listen()
    await open(`/endpoints/${id}`)
    await button('Rotate secret').click()
    const dialog = world.page.getByRole('dialog')
    await dialog.getByLabel('New secret').fill('short')
    await dialog.getByRole('button', { name: 'Rotate' }).click()
    await dialog.getByRole('alert').getByText(/16/).waitFor()
  })

  test('a test that fails says why, in place', async () => {
    const { receiver, id } = await world.tenant.listen({ events: ['lead.updated'] })
    receiver.answerWith({ status: 302, headers: { location: '/there' } })
    await open(`/endpoints/${id}`)
    await button('Send a test').click()
    await said(/^Test of Lead updated:.*302: redirects are not followed, after \d+ ms/).waitFor()
    await row('Test').first().waitFor()
    await world.page.getByLabel('Type of the test').selectOption('Callback scheduled')
    await button('Send a test').click()
    await said(/^Test of Callback scheduled:/).waitFor()
  })

  test('the keyboard alone is enough', async () => {
    const { id } = await world.tenant.listen({ description: 'CRM' })
    const { page } = world
    const pressUntil = async (name: string) => {
      for (let presses = 0; presses < 30; presses += 1) {
        await page.keyboard.press('Tab')
        if ((await page.evaluate('document.activeElement.textContent')) === name) return
      }
      throw new Error(`Tab never came to ${name}`)
    }
    await page.goto(`${world.stage.system.baseUrl}/console`)
    // The field has the focus already.
    await page.keyboard.type(world.tenant.token)
    await page.keyboard.press('Enter')
    await heading('Endpoints').waitFor()
    await pressUntil('CRM')
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid')
    await page.keyboard.press('Enter')
    await heading('CRM No traffic').waitFor()
    expect(await page.evaluate('document.activeElement.tagName')).toBe('H1')
    expect(await page.title()).toBe('CRM · Leadwire console')
    expect(page.url()).toMatch(new RegExp(`/console/endpoints/${id}$`))
    await pressUntil('Disable')
    await page.keyboard.press('Space')
    // The dialog keeps the focus; its first button does it.
    await page.keyboard.press('Enter')
    await heading('CRM Disabled').waitFor()
  })
})
