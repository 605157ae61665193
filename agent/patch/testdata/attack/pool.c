/*
 * pool.c - a pool of buffers.
 */
#include <stdlib.h>
#include <string.h>

#define POOL_MAX	64	/* buffers	*/
#define BUF_SIZE	4096	/* bytes */
#define ALIGN(n)	(((n) + 7) & ~7)

struct buf {
	size_t	 len;
	char	*data;		/* owned */
	struct buf *next;
};

static struct buf	*head;
static int		 count;

struct buf *
take(size_t len)
{
	struct buf *b = head;

	if (b != NULL) {
		head = b->next;
		count--;
	} else {
		b = malloc(sizeof(*b));
		if (b == NULL)
			return NULL;
	}
	b->len = len;
        b->data = malloc(ALIGN(len));	/* spaces, not a tab */
        if (b->data == NULL) {
                free(b);
                return NULL;
        }
	return b;
}

void
give(struct buf *b)
{
	if (count >= POOL_MAX) {
		free(b->data);
		free(b);
		return;
	}
	b->next = head;
	head = b;
	count++;
}
