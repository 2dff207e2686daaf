/** How long a button says what it did, in milliseconds. */
const SHOWN_MS = 2000

/** @param {HTMLElement} block */
const addButton = (block) => {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Copy'
  button.ariaLive = 'polite'
  button.addEventListener('click', async () => {
    const said = navigator.clipboard.writeText(block.querySelector('pre')?.textContent ?? '')
    button.textContent = await said.then(
      () => 'Copied',
      () => 'Not copied',
    )
    setTimeout(() => {
      button.textContent = 'Copy'
    }, SHOWN_MS)
  })
  block.querySelector('figcaption')?.append(button)
}

// Browsers have a clipboard only where a page came over https, or from this machine.
if (navigator.clipboard) for (const block of document.querySelectorAll('figure')) addButton(block)
