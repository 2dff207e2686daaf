import { eventually } from '@leadwire/test-kit'
import type { Locator } from 'playwright-core'
import { joinStage } from '../stage.fixture'
import { describeConsole, IMPATIENT } from './console.fixture'

const MOST_CLICKS = 12

const start = () => joinStage({ env: IMPATIENT })
describeConsole('support', start, (world) => {
  test(`finds, understands and mends a failing endpoint and sends what waited, in ${MOST_CLICKS} clicks at most`, async () => {
    const { tenant, heading } = world
    await tenant.listen({ description: 'Mailer' })
    const { receiver, id } = await tenant.listen({ description: 'CRM' })
    // A wrong port.
    const url = receiver.url.replace(/:\d+/, ':1')
    await tenant.send('PATCH', `/manage/webhook-endpoints/${id}`, { json: { url } })
    for (let count = 0; count < 3; count += 1) await tenant.createLead()
    await eventually(async () => {
      const path = `/manage/deliveries?endpoint_id=${id}&status=exhausted`
      expect((await tenant.client.request<{ total: number }>('GET', path)).json.total).toBe(3)
    })

    let clicks = 0
    const click = async (target: Locator) => {
      clicks += 1
      await target.click()
    }
    const { page } = world
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    const link = (name: string) => page.getByRole('link', { name, exact: true })
    await page.goto(`${world.stage.system.baseUrl}/console`)
    await page.getByLabel('Token', { exact: true }).fill(tenant.token)
    await click(button('Sign in'))

    // Finds: the worst is first.
    const worst = page.getByRole('row').nth(1)
    await worst.getByText('Failing').waitFor()
    expect(await worst.innerText()).toMatch(/CRM[\s\S]*0 % of 18 attempts succeeded/)
    await click(worst.getByRole('link', { name: 'CRM' }))

    // Understands.
    await heading('CRM Failing').waitFor()
    await click(
      page
        .getByRole('row')
        .nth(1)
        .getByRole('link', { name: /^#\d+$/ }),
    )
    await page.getByRole('listitem').filter({ hasText: 'Attempt 6 failed' }).waitFor()
    expect(await page.getByText('Connection refused: nothing is listening there').count()).toBe(6)
    await world.inspect('failed-delivery')
    await click(link('CRM'))

    // Mends, and sees that it works.
    await click(link('Edit'))
    await page.getByLabel('URL').fill(receiver.url)
    await click(button('Save'))
    await click(button('Send a test'))
    await page
      .getByRole('status')
      .getByText(/^Test of Lead created:.*200 Success/)
      .waitFor()

    // Sends what waited.
    await click(button('Retry failed deliveries'))
    await page.getByText('3 deliveries failed (exhausted).').waitFor()
    await click(button('Retry'))
    await page.getByText('Retried: 3. Failed (exhausted) now: 0.').waitFor()
    await heading('CRM Recovering').waitFor()
    expect(receiver.requests).toHaveLength(1 + 3)
    expect(clicks).toBeLessThanOrEqual(MOST_CLICKS)
    await world.inspect('endpoint')
  })
})
