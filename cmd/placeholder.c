// Lets the tree link until cmd/ has its main(), which overrides this one. Then: delete.
int main(void);
__attribute__((weak)) int main(void)
{
	return 2;
}
