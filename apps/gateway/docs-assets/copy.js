/** How long a button shows its result, in milliseconds. */
const SHOWN_MS = 2000

/** @param {HTMLElement} block */
const addCopyButton = (block) => {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Copy'
  button.ariaLive = 'polite'
  button.addEventListener('click', async () => {
    const copying = navigator.clipboard.writeText(block.querySelector('pre')?.textContent ?? '')
    button.textContent = await copying.then(
      () => 'Copied',
      () => 'Not copied',
    )
    setTimeout(() => {
      button.textContent = 'Copy'
    }, SHOWN_MS)
  })
  block.querySelector('figcaption')?.append(button)
}

// Adds no buttons without a clipboard. Browsers provide a clipboard only to pages from https or localhost.
if (navigator.clipboard) for (const block of document.querySelectorAll('figure')) addCopyButton(block)
