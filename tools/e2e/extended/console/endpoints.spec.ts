import { eventually } from '@leadwire/test-kit'
import { awaitRoomInHour, describeConsole, IMPATIENT } from '../../support/console'
import { joinStage } from '../../support/stage'

const start = () => joinStage({ env: IMPATIENT })

describeConsole('endpoints in the console', start, (world) => {
  const { heading, open } = world
  const button = (name: string) => world.page.getByRole('button', { name, exact: true })
  const said = (text: string | RegExp) => world.page.getByRole('status').getByText(text)
  const row = (text: string) => world.page.getByRole('row').filter({ hasText: text })

  test('failing endpoints come first, and a refresh shows changes without moving the focus', async () => {
    const { receiver } = await world.tenant.listen({ description: 'CRM' })
    const { receiver: broken } = await world.tenant.listen({ description: 'Broken' })
    await world.tenant.listen({ description: 'Silent', enabled: false })
    receiver.answerWith((_, index) => ({ status: index % 13 === 12 ? 200 : 500 }))
    broken.answerWith({ status: 500 })
    await open('/endpoints')
    await row('CRM').getByText('never').waitFor()
    // A new page moves the focus to its heading, which may happen after the page is shown.
    await world.page.locator('h1:focus').waitFor()
    await row('CRM').getByRole('link', { name: 'CRM' }).focus()
    await awaitRoomInHour()
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

  test('an endpoint is disabled after a confirmation, enabled, gets a new secret, and is deleted', async () => {
    const { receiver, id, secret } = await world.tenant.listen({ description: 'CRM' })
    await open(`/endpoints/${id}`)
    await button('Disable').click()
    const dialog = world.page.getByRole('dialog')
    expect(await dialog.innerText()).toContain(
      'Waiting now: 0 deliveries. These and the deliveries of new events are paused (held)',
    )
    await world.inspect('disable')
    await world.page.keyboard.press('Escape')
    expect(await world.page.evaluate('document.activeElement.textContent')).toBe('Disable')
    await button('Disable').click()
    await dialog.getByRole('button', { name: 'Disable' }).click()
    await heading('CRM Disabled').waitFor()
    // A disabled endpoint has neither button: the delivery of a test would only be held, and the API would
    // refuse a recovery.
    for (const name of ['Send a test', 'Retry failed deliveries']) expect(await button(name).count()).toBe(0)
    await world.tenant.createLead()
    await row('Paused (held)').waitFor()
    await button('Enable').click()
    await said('Enabled: paused deliveries are sent now.').waitFor()
    await eventually(() => expect(receiver.requests).toHaveLength(1))
    await heading('CRM Healthy').waitFor()

    await button('Rotate secret').click()
    await dialog.getByRole('button', { name: 'Rotate' }).click()
    await world.page.getByText(/^Until .* X-SERVICE-Signature uses the old secret/).waitFor()
    expect(await world.page.getByText(/^whsec_/).innerText()).not.toBe(secret)
    await button('I have stored it').click()
    expect(await world.page.getByText(/^whsec_/).count()).toBe(0)

    await world.page.getByText('Show as table').click()
    await world.page.getByRole('row', { name: /^\d\d:00 1 0$/ }).waitFor()
    await button('Delete').click()
    expect(await dialog.innerText()).toContain('Waiting or paused now: 0 deliveries. They are cancelled.')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await said('CRM was deleted.').waitFor()
    await world.page.getByText('There are no endpoints yet.').waitFor()
  })

  test('a dialog shows the errors of its fields', async () => {
    world.expected = [/422/]
    const { id } = await world.tenant.listen()
    await open(`/endpoints/${id}`)
    await button('Rotate secret').click()
    const dialog = world.page.getByRole('dialog')
    await dialog.getByLabel('New secret').fill('short')
    await dialog.getByRole('button', { name: 'Rotate' }).click()
    await dialog.getByRole('alert').getByText(/16/).waitFor()
  })

  test('a failed test shows the reason next to its button', async () => {
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

  test('the keyboard is sufficient', async () => {
    const { id } = await world.tenant.listen({ description: 'CRM' })
    const { page } = world
    const pressUntil = async (name: string) => {
      for (let presses = 0; presses < 30; presses += 1) {
        await page.keyboard.press('Tab')
        if ((await page.evaluate('document.activeElement.textContent')) === name) return
      }
      throw new Error(`Tab never reached ${name}`)
    }
    await page.goto(`${world.stage.system.baseUrl}/console/endpoints`)
    // The field gets the focus when it is drawn, which may be after the page has loaded.
    await page.locator('input:focus').waitFor()
    await pressUntil('Use a token instead')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await page.keyboard.type(world.tenant.token)
    await page.keyboard.press('Enter')
    const headingWithFocus = page.locator('h1:focus')
    await headingWithFocus.filter({ hasText: 'Endpoints' }).waitFor()
    await pressUntil('CRM')
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid')
    await page.keyboard.press('Enter')
    await heading('CRM No traffic').waitFor()
    // The heading gets the focus a moment after it is shown.
    await headingWithFocus.filter({ hasText: 'CRM' }).waitFor()
    expect(await page.title()).toBe('CRM · Leadwire console')
    expect(page.url()).toMatch(new RegExp(`/console/endpoints/${id}$`))
    await pressUntil('Disable')
    await page.keyboard.press('Space')
    // The dialog has the focus on its first button, which disables the endpoint.
    await page.keyboard.press('Enter')
    await heading('CRM Disabled').waitFor()
  })
})
