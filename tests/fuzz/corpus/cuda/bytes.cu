__global__ void k(float *y) { y[0] = 1; } // cafÃ© ÿ
